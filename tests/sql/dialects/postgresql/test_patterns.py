"""Patterns match the same texts on PostgreSQL as in the service itself."""

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from comptoir.request.automaton import compiled_pattern
from comptoir.request.pattern import PatternFault
from comptoir.sql.dialects.postgresql.patterns import as_regex
from support.effort import examples
from support.functions import OnPostgres

ONES = (
    *"ab1-é😀^$.^$",
    *(r"\n", r"\.", r"\]", r"\\", r"\*", r"\d", r"\D", r"\w", r"\W", r"\s", r"\S"),
    *("[ab]", "[^a]", "[]", "[^]", "[a-c-]", r"[\d\s]", r"[^\w-]", "[*-\U0001f64f]", "[^\1-\x7f]"),
)
COUNTS = ("*", "+", "?", "*?", "{0}", "{2}", "{0,2}", "{1,3}", "{2,}", "{0,}", "{3}?")


def _larger(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    sequences = st.lists(parts, max_size=3).map("".join)
    groups = st.builds(
        lambda opening, branches: f"{opening}{'|'.join(branches)})",
        st.sampled_from(["(", "(?:"]),
        st.lists(sequences, min_size=1, max_size=3),
    )
    return st.one_of(groups, st.builds(str.__add__, groups, st.sampled_from(COUNTS)))


ONE = st.one_of(
    st.sampled_from(ONES),
    st.builds(str.__add__, st.sampled_from(ONES), st.sampled_from(COUNTS)),
)
PATTERN = st.lists(st.recursive(ONE, _larger, max_leaves=8), max_size=4).map("".join)
TEXT = st.text("ab1-]é😀\n\r\u2028 .*\\A_", max_size=8)
TEXTS = ["", "a", "b", "ab", "ba", "aab", "\n", "a\n", "\na", "é", "😀", "a b1"]


@settings(max_examples=examples(300))
@given(PATTERN, st.lists(TEXT, max_size=6))
@example("(^|,)a(,|$)", [",a", "a,", "ba"])
@example("(?:^a|b$)*", [])
@example("x(^a?|b?$){48}c", ["xc"])
@example("***:a", [])
@example("a{50}", ["a" * 49, "a" * 50])
def test_patterns_match_the_same_texts(
    postgres: OnPostgres, pattern: str, texts: list[str]
) -> None:
    try:
        compiled = compiled_pattern(pattern)
    except PatternFault:
        assume(False)
    texts = [*TEXTS, *texts]

    rows = postgres.fetch(
        'SELECT given COLLATE "C" ~ $2 FROM unnest($1::text[]) WITH ORDINALITY'
        " AS each (given, number) ORDER BY number",
        texts,
        as_regex(pattern),
    )

    assert [found for [found] in rows] == [compiled.found_in(text) for text in texts]


@pytest.mark.parametrize(
    "pattern",
    [
        "(^|a|$){50}b",
        "(^a?|b?$){48}c",
        "((^|b)*a*){40}c",
        "((^|$|a|b)+){30}c",
        "(?:(?:^|a)(?:$|b)?){45}c",
        "(" * 49 + "^a" + ")*" * 49 + "b",
        "(^|a)" * 19 + "b" + "(a|$)" * 19,
        "(a|b)*a(a|b){50}c",
        "(.{0,50}){5}b",
        "(x?y?z?w?){40}q",
    ],
)
def test_patterns_of_any_size_are_not_too_complex(pattern: str, postgres: OnPostgres) -> None:
    text = "ab" * 2_000
    [[found]] = postgres.fetch('SELECT $1::text COLLATE "C" ~ $2', text, as_regex(pattern))
    assert found is compiled_pattern(pattern).found_in(text)
