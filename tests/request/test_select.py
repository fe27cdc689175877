"""`$select`: lists of properties."""

from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from comptoir.request.select import SelectItem, parse_select
from support.effort import examples
from support.syntax import malformed, reads_back, unsupported


def text_of(items: Iterable[SelectItem]) -> str:
    return ",".join("/".join(item.path) for item in items)


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("number", [["number"]]),
        (" number , displayName ", [["number"], ["displayName"]]),
        ("*", [["*"]]),
        ("*,number", [["*"], ["number"]]),
        ("number,number", [["number"], ["number"]]),
        ("company/displayName", [["company", "displayName"]]),
        ("Comptoir.contact/number", [["Comptoir.contact", "number"]]),
        ("null", [["null"]]),
        ("größe", [["größe"]]),
    ],
)
def test_a_list_of_properties_is_read(text: str, paths: list[list[str]]) -> None:
    items = parse_select(text)
    assert items == tuple(SelectItem(tuple(path)) for path in paths)
    assert [item.all for item in items] == [path == ["*"] for path in paths]
    assert parse_select(text_of(items)) == items


def test_items_have_their_positions() -> None:
    assert [item.position for item in parse_select(" a, b ,c")] == [1, 4, 7]


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("", 1),
        ("  ", 3),
        (",", 1),
        ("a,", 3),
        ("a,,b", 3),
        ("a;b", 2),
        ("a b", 3),
        ("'a'", 1),
        ("1", 1),
        ("a/", 2),
        ("a//b", 2),
        ("*/a", 2),
        ("$it", 1),
        ("a/$count", 1),
        ("a)", 2),
    ],
)
def test_a_malformed_list_is_refused_with_its_column(text: str, column: int) -> None:
    malformed(parse_select, text, "$select", column)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("Comptoir.*", "'Comptoir.*' (an action, a function"),
        ("a,Comptoir.block", "'Comptoir.block' (an action, a function"),
        ("a($select=b)", "An option of a selected property is not supported at column 2"),
        ("Comptoir.f(a)", "'Comptoir.f' (an action, a function"),
        ("@Core.Messages", "The annotation '@Core.Messages'"),
    ],
)
def test_unsupported_odata_is_refused_by_name(text: str, named: str) -> None:
    unsupported(parse_select, text, "$select", named)


@settings(max_examples=examples(300))
@given(st.one_of(st.text(), st.lists(st.sampled_from("a b,/*.$@('é;)"), max_size=12).map("".join)))
def test_any_text_is_read_or_refused(text: str) -> None:
    reads_back(parse_select, lambda each: text_of(parse_select(each)), text, "$select")
