"""Paths: segments and their keys."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from comptoir.errors.refusal import Refusal
from comptoir.errors.table import INVALID_URL
from comptoir.request.path import KeyPart, Segment, parse_path
from support.effort import examples
from support.syntax import refusal_of
from support.together import together

GUID = "5d115c9c-44e3-ea11-bb43-000d3a2feca1"


def refused(path: str) -> Refusal:
    with pytest.raises(Refusal) as caught:
        parse_path(path)
    assert caught.value.error is INVALID_URL
    assert len(caught.value.message) < 300
    return caught.value


@together(
    ("key", "text", "quoted"),
    [
        (f"%28{GUID}%29", GUID, False),
        ("(null)", "null", False),
        ("(2024-01-01T00:00:00+02:00)", "2024-01-01T00:00:00+02:00", False),
        ("('')", "", True),
        ("('''')", "'", True),
        ("(%27O%27%27Neil%27)", "O'Neil", True),
        ("('a,b=(c)')", "a,b=(c)", True),
        ("('a+b')", "a+b", True),
        ("('a%25')", "a%", True),
        ("(%27a/b%27)", "a/b", True),
        ("('a/''b/../c')", "a/'b/../c", True),
        ("('%C3%A9')", "é", True),
        ("('Ã©')", "é", True),
        ("('@id')", "@id", True),
    ],
)
def test_a_key_is_one_value(key: str, text: str, quoted: bool) -> None:
    segments = parse_path(f"/a/b{key}/c")
    assert [each.name for each in segments] == ["a", "b", "c"]
    assert [each.key for each in segments] == [None, (KeyPart(None, text, quoted),), None]
    named = parse_path(f"/b{key}".replace("(", "(code=", 1).replace("%28", "%28code=", 1))
    assert named == (Segment("b", (KeyPart("code", text, quoted),)),)


def test_a_key_may_be_an_alias() -> None:
    (single,) = parse_path("/a(@id)")
    (named,) = parse_path("/a(x=%40id,y='@id',z=1)")
    assert single.key is not None
    assert named.key is not None
    assert [part.alias for part in (*single.key, *named.key)] == ["id", "id", None, None]


@together(
    ("path", "part"),
    [
        ("//", "Remove one of two adjacent slashes"),
        ("//a", "Remove one of two adjacent slashes"),
        ("/.", "from the service root"),
        ("/a/../b", "from the service root"),
        ("/a/%2E%2E/b", "from the service root"),
        ("/a('\0')", "contains NUL"),
        ("/a('\xff')", "not UTF-8"),
        ("/a('\u20ac')", "not UTF-8"),
        ("/a(1 )", "Write a key as"),
    ],
)
def test_a_malformed_path_is_refused(path: str, part: str) -> None:
    assert part in refused(path).message


def test_a_long_path_is_read_or_refused() -> None:
    for piece in ("a", "/", "a/", "'", "''", "a('", "%27", "(", "a(1,", "x='',", "%"):
        text = "/" + piece * (16_384 // len(piece))
        for path in (text, text + "#", "/a('" + text + "')", "/a(" + text):
            refusal = refusal_of(parse_path, path)
            assert refusal is None or refusal.error is INVALID_URL
            assert refusal is None or len(refusal.message) < 300


@settings(max_examples=examples(100))
@given(st.one_of(st.text(), st.lists(st.sampled_from("a/'(),=%2@1 $."), max_size=14).map("".join)))
def test_any_path_is_read_or_refused(path: str) -> None:
    refusal = refusal_of(parse_path, path)
    assert refusal is None or refusal.error is INVALID_URL
