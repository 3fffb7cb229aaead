"""`python -m margins`: the command."""

from . import _command

_command()
