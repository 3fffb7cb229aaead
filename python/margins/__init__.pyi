from os import PathLike
from pathlib import Path
from typing import Any, Iterable, Iterator, List, Mapping, Optional, Protocol, Sequence, Union, overload

__version__: str
__all__: List[str]

_Path = Union[str, PathLike[str]]

class _ArrowStream(Protocol):
    def __arrow_c_stream__(self, requested_schema: Optional[object] = ...) -> object: ...

class Error(Exception):
    """Why there is no answer, no plan or no release."""

class VerificationError(Error):
    """A release that is not what it says, or that another key signed; its text lists the checks."""

class Refused(Error):
    """The ledger's bound refuses the release."""

class Figure:
    """An estimate with its standard error, where one is known, and interval; an end of it may be infinite."""

    @property
    def estimate(self) -> float: ...
    @property
    def std_error(self) -> Optional[float]: ...
    @property
    def low(self) -> float: ...
    @property
    def high(self) -> float: ...
    def __new__(cls, estimate: float, std_error: Optional[float], low: float, high: float) -> "Figure": ...
    def __float__(self) -> float: ...

_Cell = Union[str, int, float, Figure]

class Answer:
    """An answer: a sequence of rows, each a dict by the names of the columns.

    polars, pandas, pyarrow and DuckDB take it as it is, through the Arrow PyCapsule interface.
    """

    @property
    def columns(self) -> List[str]:
        """The names of the columns, in the order of SELECT."""
    @property
    def level(self) -> float:
        """The probability with which each interval covers."""
    @property
    def rows(self) -> List[dict[str, _Cell]]:
        """All rows."""
    @property
    def caveats(self) -> List[dict[str, Any]]:
        """What makes the numbers untrue besides noise, as data."""
    @property
    def notes(self) -> List[str]:
        """All that a reader must be told beside the numbers, in sentences: the caveats first."""
    def column(self, name: str) -> List[_Cell]:
        """The values of one column, as rows have them."""
    @property
    def df(self) -> Any:
        """As a pandas DataFrame."""
    def to_pandas(self) -> Any:
        """As a pandas DataFrame."""
    def to_polars(self) -> Any:
        """As a polars DataFrame."""
    def to_arrow(self) -> Any:
        """As a pyarrow Table, whose schema has the level and the notes."""
    def to_csv(self) -> str:
        """As CSV: full precision."""
    def to_json(self) -> str:
        """As JSON, as `margins query --json` prints it."""
    def __len__(self) -> int: ...
    @overload
    def __getitem__(self, at: int) -> dict[str, _Cell]: ...
    @overload
    def __getitem__(self, at: slice) -> "Answer": ...
    def __iter__(self) -> Iterator[dict[str, _Cell]]: ...
    def plot(self, ax: Any = None, *, figure: Optional[str] = None, kind: Optional[str] = None) -> Any:
        """Draws a figure with matplotlib, and gives its axes: bars with whiskers, or a line in its band along numbers and days."""
    def __arrow_c_stream__(self, requested_schema: Optional[object] = None) -> object: ...
    def __arrow_c_schema__(self) -> object: ...
    def _repr_html_(self) -> str: ...

class Level:
    """A level of a dimension."""

    @property
    def name(self) -> str: ...
    @property
    def categories(self) -> List[str]: ...

class Dimension:
    """A dimension of the counts."""

    @property
    def name(self) -> str: ...
    @property
    def levels(self) -> List[Level]: ...

class Table:
    """A table that can be asked for."""

    @property
    def levels(self) -> List[str]: ...
    @property
    def cells(self) -> Optional[int]: ...
    @property
    def exact(self) -> bool: ...

class Description:
    """What a release is and what can be asked of it."""

    def to_dict(self) -> dict[str, Any]: ...
    def to_json(self) -> str: ...
    def _repr_html_(self) -> str: ...

class Check:
    """One check: `passed`, `warning`, `skipped`, `unchecked` or `failed`."""

    @property
    def what(self) -> str: ...
    @property
    def outcome(self) -> str: ...
    @property
    def detail(self) -> str: ...

class Audit:
    """What came of checking a release. True if it is verified."""

    @property
    def passed(self) -> bool: ...
    @property
    def verdict(self) -> str:
        """`verified`; `whole` where a check that is needed could not be made; `failed`."""
    @property
    def checks(self) -> List[Check]: ...
    def __bool__(self) -> bool: ...
    def _repr_html_(self) -> str: ...

class Release:
    """A signed release; several of one dataset are asked together."""

    @property
    def name(self) -> str:
        """Its name, as FROM wants it."""
    @property
    def title(self) -> Optional[str]:
        """One line for people."""
    @property
    def signer(self) -> Optional[str]:
        """The public key of its signer: whose it is, only `verify` with theirs tells."""
    @property
    def guarantee(self) -> Optional[str]:
        """Whom it protects and how well, in a sentence."""
    @property
    def caveats(self) -> List[str]:
        """What besides noise makes its numbers untrue, in sentences."""
    @property
    def path(self) -> Optional[Path]:
        """Its file; of several the first."""
    @property
    def paths(self) -> List[Path]:
        """The files of all that are asked together."""
    def __enter__(self) -> "Release": ...
    def __exit__(self, *exception: object) -> bool: ...
    @property
    def has_own_key(self) -> bool:
        """Whether it is signed with a lasting key, not a throw-away one, and protects anybody at all.

        Anybody can make such a key: whose it is, only `verify` with theirs tells.
        """
    @property
    def tables(self) -> List[Table]:
        """The tables that it was made for; everything that can be summed from them can be asked, too."""
    @property
    def dimensions(self) -> List[Dimension]:
        """The dimensions, with their levels and categories."""
    def describe(self, tables: int = 40) -> Description:
        """What it is, whom it protects, what can be asked of it and how exact the answers are."""
    def verify(self, public_key: Optional[_Path] = None) -> Audit:
        """Checks everything that can be checked from the file alone. It raises nothing: look at `passed`."""
    def query(
        self,
        sql: str,
        level: float = 0.95,
        *,
        areas: Union[_Path, Mapping[str, Iterable[object]], _ArrowStream, None] = None,
        prob: Optional[str] = None,
        test: Optional[float] = None,
        prior: Optional[str] = None,
        joint: Union[bool, str] = False,
        complete: bool = False,
        labels: Union[bool, str] = False,
        reliability: bool = False,
    ) -> Answer:
        """Answers one SELECT; each interval covers the truth with probability `level`.

        `areas` asks about some areas alone, and by districts that no level has: a CSV file with a column of labels and perhaps one of
        districts, a dict of these columns, or a data frame. `labels` shows what codes stand for beside them (`"only"` in their place);
        `reliability` adds coefficients of variation and their classes.
        """
    def explain(self, sql: str) -> List[dict[str, Any]]:
        """What the answer to a SELECT rests on, of its first rows, as `margins query --explain --json` has it."""
    def table(self, *levels: str, level: float = 0.95) -> Answer:
        """The table of these levels; without any the total."""
    def records(self, rows: Optional[int] = None, seed: int = 1) -> Records:
        """Synthetic records whose tables are those of the release; the same for the same seed. They are nobody's."""

class Records:
    """Synthetic records, which data frames take as Arrow. They are biased: intervals belong to the release."""

    @property
    def report(self) -> dict[str, Any]:
        """What they say of themselves: gaps to the release's tables, the seed, notes."""
    def __len__(self) -> int: ...
    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any: ...
    def __arrow_c_schema__(self) -> Any: ...

class Plan:
    """What a spec will measure and how exact its tables will be."""

    def to_dict(self) -> dict[str, Any]: ...
    def to_json(self) -> str: ...
    def _repr_html_(self) -> str: ...

class Released:
    """A release that was made."""

    @property
    def path(self) -> Path:
        """Where it is."""
    @property
    def paths(self) -> List[Path]:
        """Where all copies are, where there are several recipients: the most precise first."""
    def open(self, public_key: Optional[_Path] = None) -> Release: ...
    def to_dict(self) -> dict[str, Any]: ...
    def to_json(self) -> str: ...
    def _repr_html_(self) -> str: ...

def open(path: Union[_Path, Sequence[_Path]], public_key: Optional[_Path] = None) -> Release:
    """Opens one release, or several of one dataset that are then asked together.

    With a public key (a file, or the key itself) everything is checked; what does not pass raises VerificationError.
    """

def plan(
    spec: Union[_Path, Mapping[str, Any]], *, compare: bool = False, effort: Optional[int] = None, memory: Optional[int] = None
) -> Plan:
    """Plans a spec without looking at data; refuses a plan whose release may need more than `memory` bytes."""

def release(
    spec: Union[_Path, Mapping[str, Any]],
    data: Union[_Path, _ArrowStream, None] = None,
    key: Optional[_Path] = None,
    out: _Path = "out",
    *,
    passphrase: Optional[str] = None,
    ledger: Optional[_Path] = None,
    extends: Optional[_Path] = None,
    replace: bool = False,
    effort: Optional[int] = None,
    memory: Optional[int] = None,
    threads: Optional[int] = None,
) -> Released:
    """Makes a signed release, and charges the ledger."""

def init(data: _Path, out: Optional[_Path] = None) -> dict[str, Any]:
    """Drafts a spec from a data file: `spec` is the draft, or `wrote` its file."""

def check(spec: _Path, data: Optional[_Path] = None) -> dict[str, Any]:
    """Everything in the data that keeps it from being released; its counts are PRIVATE, for the data's holder alone."""

def keygen(out: _Path = "agency.key", passphrase: bool = True) -> dict[str, Any]:
    """Makes a key; asks for its passphrase on the terminal, unless it is to have none."""

def ask(spec: _Path, sql: str, within: Any = None, **options: Any) -> dict[str, Any]:
    """Answers as precisely as asked, from the releases there are or for the least further budget."""

def export(release: Union[Release, _Path], out: _Path, table: Union[str, Sequence[str], None] = None, format: str = "parquet", **options: Any) -> None:
    """Writes a table or all tables of a release into a folder."""

def page(release: Union[Release, _Path], out: _Path, public_key: Optional[str] = None, **options: Any) -> None:
    """Writes a page that shows the release in a browser, verified with its key first."""
