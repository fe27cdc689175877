"""The page on security: each requirement of its tables has tests, and these exist."""

import re
from collections.abc import Sequence

from docs.pages import DOCS

PAGE = DOCS / "explanation" / "security.md"
COLUMNS = "| identifier | what is required | what the service does | tests |"
IDENTIFIER = re.compile(r"API(?:10|[1-9])|ASVS [1-9]\d?\.\d+\.\d+|RFC \d{4}")
LINK = re.compile(r"\[`([\w/.-]+)`\]\((\.\./\.\./tests/[\w/.-]+)\)")
TEXT = PAGE.read_text("utf-8")


def _row(line: str) -> tuple[Sequence[str], Sequence[tuple[str, str]]]:
    """A requirement: its identifiers, and the names and files of its tests."""
    identifiers, _, _, tests = [each.strip() for each in line.strip("|").split("|")]
    assert LINK.sub("", tests).strip(", ") == "", line
    return identifiers.split(", "), LINK.findall(tests)


ROWS = [_row(line) for line in re.findall(r"^\| (?:API|ASVS|RFC).*\|$", TEXT, re.MULTILINE)]


def test_every_line_of_a_table_is_a_requirement() -> None:
    lines = [line for line in TEXT.splitlines() if line.startswith("|")]
    heads = [line for line in lines if line == COLUMNS or set(line) == set("|-")]
    assert len(ROWS) == len(lines) - len(heads) > 30


def test_no_requirement_is_listed_twice() -> None:
    identifiers = [each for row in ROWS for each in row[0]]
    assert [each for each in identifiers if not IDENTIFIER.fullmatch(each)] == []
    assert len(set(identifiers)) == len(identifiers)


def test_each_risk_of_the_top_ten_is_on_the_page() -> None:
    assert [n for n in range(1, 11) if not re.search(rf"\bAPI{n}\b", TEXT)] == []


def test_a_requirement_has_tests_that_exist() -> None:
    assert all(tests for _, tests in ROWS)
    for name, file in {each for _, tests in ROWS for each in tests}:
        # a test of a module, or a file of the corpus by its own name
        text = (PAGE.parent / file).read_text("utf-8")
        assert file == f"../../tests/corpus/{name}" or re.search(
            rf"^(?:async )?def {name}\(", text, re.MULTILINE
        ), name
