"""The corpus: requests with their required responses, read from plain text.

`tests/corpus/README.md` describes the format of the files.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from urllib.parse import quote

FOLDER = Path(__file__).parents[1] / "corpus"
FOLDERS = (FOLDER, *sorted(path.parent for path in FOLDER.glob("*/data")))
"""The folders of the corpus, each with records of its own."""

CODES: Mapping[int, str] = {
    400: "BadRequest_InvalidRequestUrl",
    404: "BadRequest_ResourceNotFound",
    405: "BadRequest_MethodNotAllowed",
    406: "Request_NotAcceptable",
    412: "Request_EntityChanged",
    415: "Request_UnsupportedMediaType",
    428: "Request_PreconditionRequired",
    501: "BadRequest_MethodNotImplemented",
}
"""The error code by status, for cases that do not name one."""

EARLY = "before the database"
"""After the title of a file: its requests are decided there, whatever the database."""
IN_ORDER = "in order"
"""After the title of a file: its requests change records, in a company of its own."""
INDEXED = "indexed"
"""After the title of a file: its requests are sent before and after the text index has all."""

_METHODS = {"DELETE", "GET", "HEAD", "INVENTED", "OPTIONS", "PATCH", "POST", "PUT", "TRACE"}
_TARGET = re.compile(r"\[((?:[^][]|\[\d+])*)]")
"""A target in brackets, which may have places of lists itself."""

_IN_PATH = "/$()',=:@*!~;{}"
_IN_QUERY = "&=$@,;:/?()'*!~"


class CorpusError(Exception):
    """A line that is neither request nor answer."""


@dataclass(frozen=True, slots=True)
class Refused:
    """An error: its status, code and target, and texts of its message in this order."""

    status: int
    code: str
    target: str | None
    fragments: Sequence[str]


@dataclass(frozen=True, slots=True)
class Kept:
    """A value of a response that later requests of its file may name."""

    name: str
    place: str
    after: str


@dataclass(slots=True)
class Answer:
    """The required properties of a response; None or empty if the case does not require one."""

    keys: Sequence[str] | None = None
    single: str | None = None
    records: list[str] = field(default_factory=list)
    exact: bool = False
    text: str | None = None
    fragments: list[str] = field(default_factory=list)
    count: int | None = None
    has_more: bool = False
    has_delta: bool = False
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    absent: list[str] = field(default_factory=list)
    parts: str | None = None
    verbs: Sequence[str] | None = None
    kept: list[Kept] = field(default_factory=list)
    refused: Refused | None = None


@dataclass(slots=True)
class Case:
    """A request as written, with headers and body, and its required response."""

    place: str
    written: str
    headers: dict[str, str] = field(default_factory=dict)
    body: str | None = None
    answer: Answer = field(default_factory=Answer)
    is_answered: bool = False

    @property
    def request(self) -> str:
        """The request in one line, with its body."""
        return self.written if self.body is None else f"{self.written} {self.body}"

    @property
    def method(self) -> str:
        first = self.written.partition(" ")[0]
        return first if first in _METHODS else "GET"

    def address(self, values: Mapping[str, str]) -> tuple[str, str]:
        """Path and query with these values, percent-encoded; a `raw` case is not."""
        first, _, rest = self.written.partition(" ")
        text = rest if first in _METHODS else self.written
        is_raw = text.startswith("raw ")
        path, _, query = filled(text.removeprefix("raw "), values).partition("?")
        return (path, query) if is_raw else (quote(path, _IN_PATH), quote(query, _IN_QUERY))


def filled(text: str, values: Mapping[str, str]) -> str:
    """A text with values for the names in braces."""
    for name, value in values.items():
        text = text.replace(f"{{{name}}}", value)
    return text


@dataclass(slots=True)
class Rule:
    """A rule of the grammar, the section that defines its meaning, and its cases."""

    name: str
    section: str
    cases: list[Case] = field(default_factory=list)

    @property
    def accepted(self) -> int:
        return sum(each.answer.refused is None for each in self.cases)

    @property
    def refused(self) -> int:
        return len(self.cases) - self.accepted


@dataclass(slots=True)
class Area:
    """A file of the corpus: its title, what is after it (`EARLY`, `IN_ORDER`), its rules.

    `settings` are those of the service that gets its requests.
    """

    name: str
    title: str
    kind: str
    settings: Mapping[str, str]
    rules: list[Rule]


@cache
def areas(folder: Path = FOLDER) -> Sequence[Area]:
    """All files of the corpus, by name."""
    return [read_area(path) for path in sorted(folder.glob("*.txt"))]


def cases(folder: Path = FOLDER) -> list[Case]:
    """All cases of the corpus."""
    return [each for area in areas(folder) for rule in area.rules for each in rule.cases]


def read_area(path: Path) -> Area:
    """A file of the corpus; raises `CorpusError` with the line that cannot be read."""
    lines = path.read_text(encoding="utf-8").splitlines()
    title, *others = lines[0].removeprefix("# ").split(" | ")
    settings = dict(each.split("=", 1) for each in others if "=" in each)
    kind = next((each for each in others if "=" not in each), "")
    area = Area(path.stem, title, kind, settings, [])
    for number, line in enumerate(lines[1:], 2):
        place = f"{path.stem}:{number}"
        if not line.strip() or line.startswith("# "):
            continue
        if line.startswith("## "):
            name, bar, section = line.removeprefix("## ").partition(" | ")
            if not bar:
                raise CorpusError(f"{place}: a rule has a name, ` | ` and a section")
            area.rules.append(Rule(name.strip(), section.strip()))
        elif not area.rules:
            raise CorpusError(f"{place}: a request must come after a rule")
        elif line.startswith("  "):
            if not area.rules[-1].cases:
                raise CorpusError(f"{place}: an answer must come after a request")
            _take(area.rules[-1].cases[-1], line.strip(" "), place)
        else:
            area.rules[-1].cases.append(Case(place, line))
    for case in (case for rule in area.rules for case in rule.cases):
        if not case.is_answered:
            raise CorpusError(f"{case.place}: the request has no answer")
    return area


def _take(case: Case, line: str, place: str) -> None:
    """Read an indented line: a continuation of the request or of its response."""
    if line.startswith("header "):
        name, _, value = line.removeprefix("header ").partition(":")
        case.headers[name] = value.removeprefix(" ")
        return
    if line == "body" or line.startswith("body "):
        text = line.removeprefix("body").removeprefix(" ")
        case.body = text if case.body is None else f"{case.body}\r\n{text}"
        return
    case.is_answered = True
    if line in _OF_ONE_WORD:
        setattr(case.answer, *_OF_ONE_WORD[line])
        return
    if line.isdigit():
        case.answer.status = int(line)
        return
    sign = next((each for each in (*_MEMBERS, *_TAKEN) if line.startswith(each)), "")
    text = line.removeprefix(sign)
    if sign in _MEMBERS:
        name, read = _MEMBERS[sign]
        setattr(case.answer, name, read(text))
    elif sign:
        _TAKEN[sign](case.answer, text, place)
    else:
        raise CorpusError(f"{place}: no answer begins with {line[:20]!r}")


def _take_whole_record(answer: Answer, text: str, _: str) -> None:
    answer.records.append(text)
    answer.exact = True


def _take_header(answer: Answer, text: str, _: str) -> None:
    name, _, answer.headers[name] = text.partition(": ")


def _take_kept(answer: Answer, text: str, _: str) -> None:
    name, _, place = text.partition(" ")
    place, _, after = place.partition(" after ")
    answer.kept.append(Kept(name, place, after))


def _take_refusal(answer: Answer, text: str, place: str) -> None:
    status, _, rest = text.partition(" ")
    if not status.isdigit():
        raise CorpusError(f"{place}: a refusal begins with its status")
    first, _, following = rest.partition(" ")
    code = CODES.get(int(status), "")
    if "_" in first or first in {"BadRequest", "SkipTokenIsNoLongerValid"}:
        code, rest = first, following
    target = None
    if (named := _TARGET.match(rest)) is not None:
        target, rest = named[1], rest[named.end() :]
    fragments = [each.strip() for each in rest.split("…")]
    answer.refused = Refused(int(status), code, target, [each for each in fragments if each])


_MEMBERS: Mapping[str, tuple[str, Callable[[str], object]]] = {
    "= ": ("keys", str.split),
    "is ": ("single", str),
    ": ": ("text", str),
    "count ": ("count", int),
    "parts ": ("parts", str),
    "changes ": ("verbs", str.split),
}
"""The members of a response that a line sets, by its first word, and how it is read."""

_TAKEN: Mapping[str, Callable[[Answer, str, str], None]] = {
    "{": lambda answer, text, _: answer.records.append("{" + text),
    "only ": _take_whole_record,
    "~ ": lambda answer, text, _: answer.fragments.append(text),
    "with ": _take_header,
    "without ": lambda answer, text, _: answer.absent.append(text),
    "keep ": _take_kept,
    "! ": _take_refusal,
}
"""The readers of the other lines of a response, by their first word."""

_OF_ONE_WORD: Mapping[str, tuple[str, object]] = {
    "=": ("keys", ()),
    ":": ("text", ""),
    "more": ("has_more", True),
    "delta": ("has_delta", True),
    "changes": ("verbs", ()),
    "parts": ("parts", ""),
}
"""The members of a response that a line of one word sets, and their values."""
