"""The cases of profiles: a request, and what each profile must answer."""

from pathlib import Path

import msgspec

FOLDER = Path(__file__).parents[1] / "profiles" / "cases"
"""A file for each letter that rows begin with, and `elsewhere.json`."""


class Asked(msgspec.Struct, forbid_unknown_fields=True):
    """A request within a company; `{id}`, `{tag}` and `{stale}` are those of a record."""

    method: str
    path: str
    body: msgspec.Raw = msgspec.Raw()
    headers: dict[str, str] = {}


class Answered(msgspec.Struct, forbid_unknown_fields=True):
    """A status, and of an error its code and its message without the envelope's suffix.

    `headers` may be null for a header that the response lacks, or `…` for any value. `body` has
    some members of an object.
    """

    status: int
    code: str = ""
    message: str = ""
    headers: dict[str, str | None] = {}
    body: dict[str, str | int | bool | None] = {}


class Case(msgspec.Struct, forbid_unknown_fields=True):
    """A case of some rows of `tests/profiles/rows.toml`; `expect` is of `business-central`."""

    id: str
    rows: list[str]
    request: Asked
    expect: Answered
    standard: Answered


class Elsewhere(msgspec.Struct, forbid_unknown_fields=True):
    """A test of some rows that no single request shows, as `tests/api/test_reads.py::test_it`.

    In the corpus, it is a rule: `tests/corpus/folder/file.txt::rule`.
    """

    rows: list[str]
    test: str


def cases() -> list[Case]:
    """Every case, in the order of the letters."""
    contents = [file.read_bytes() for file in sorted(FOLDER.glob("?.json"))]
    return [case for each in contents for case in msgspec.json.decode(each, type=list[Case])]


def elsewhere() -> list[Elsewhere]:
    """The tests of rows that are not cases."""
    return msgspec.json.decode((FOLDER / "elsewhere.json").read_bytes(), type=list[Elsewhere])
