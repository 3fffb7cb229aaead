"""What the sealed spec says, compared with the rest of the file: for the checks `spec` and `delta`."""

from ..shapes import know

know(__file__)
