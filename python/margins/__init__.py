"""Open, verify and query signed statistical tables, and make them.

    import margins

    town = margins.open("town.margins", public_key="agency.pub")
    town.describe()
    town.query("SELECT sex, COUNT(*) FROM town WHERE age < 20 GROUP BY sex")

Answers are rows with estimates, standard errors and intervals; polars, pandas, pyarrow and DuckDB take them as they are.
"""

from ._margins import (
    Answer,
    Audit,
    Check,
    Description,
    Dimension,
    Error,
    Figure,
    Level,
    Plan,
    Records,
    Refused,
    Release,
    Released,
    Table,
    VerificationError,
    __version__,
    command as _run,
    open,
    plan,
    release,
)
from ._verbs import ask, check, export, init, keygen, page

__all__ = [
    "Answer",
    "Audit",
    "Check",
    "Description",
    "Dimension",
    "Error",
    "Figure",
    "Level",
    "Plan",
    "Records",
    "Refused",
    "Release",
    "Released",
    "Table",
    "VerificationError",
    "__version__",
    "ask",
    "check",
    "export",
    "init",
    "keygen",
    "open",
    "page",
    "plan",
    "release",
]


def _command() -> None:
    """The `margins` command."""
    import signal
    import sys

    # The command ends as others do when its user interrupts it.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(_run(["margins", *sys.argv[1:]]))
