"""The page on security: each requirement of its tables has tests, and these exist."""

import re
from collections.abc import Sequence

import msgspec

from docs.pages import DOCS

PAGE = DOCS / "explanation" / "security.md"
COLUMNS = "| identifier | what is required | what the service does | tests |"
IDENTIFIER = re.compile(r"API(?:10|[1-9])|ASVS [1-9]\d?\.\d+\.\d+|RFC \d{4}")
LINK = re.compile(r"\[`([\w/.-]+)`\]\((\.\./\.\./tests/[\w/.-]+)\)")
TEXT = PAGE.read_text("utf-8")


class Row(msgspec.Struct, frozen=True):
    """A requirement: its identifiers, and the names and files of its tests."""

    identifiers: Sequence[str]
    tests: Sequence[tuple[str, str]]


def _row(line: str) -> Row:
    identifiers, _, _, tests = [each.strip() for each in line.strip("|").split("|")]
    links = LINK.findall(tests)
    assert LINK.sub("", tests).strip(", ") == "", line
    return Row(identifiers.split(", "), links)


ROWS = [_row(line) for line in re.findall(r"^\| (?:API|ASVS|RFC).*\|$", TEXT, re.MULTILINE)]


def test_every_line_of_a_table_is_a_requirement() -> None:
    lines = [line for line in TEXT.splitlines() if line.startswith("|")]
    heads = [line for line in lines if line == COLUMNS or set(line) == set("|-")]
    assert len(ROWS) == len(lines) - len(heads) > 30


def test_no_requirement_is_listed_twice() -> None:
    identifiers = [each for row in ROWS for each in row.identifiers]
    assert [each for each in identifiers if not IDENTIFIER.fullmatch(each)] == []
    assert len(set(identifiers)) == len(identifiers)


def test_each_risk_of_the_top_ten_is_on_the_page() -> None:
    assert [n for n in range(1, 11) if not re.search(rf"\bAPI{n}\b", TEXT)] == []


def test_a_requirement_has_tests_that_exist() -> None:
    assert all(row.tests for row in ROWS)
    tests = {each for row in ROWS for each in row.tests}
    assert [each for each in tests if not _exists(*each)] == []


def _exists(name: str, file: str) -> bool:
    """Whether a module has a test with a name, or a file of the corpus its own."""
    if file.endswith(".txt"):
        return file == f"../../tests/corpus/{name}" and (PAGE.parent / file).exists()
    return bool(
        re.search(rf"^(?:async )?def {name}\(", (PAGE.parent / file).read_text(), re.MULTILINE)
    )
