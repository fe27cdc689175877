"""Patterns match the same texts on PostgreSQL as by RE2 in the service itself."""

from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from comptoir.request.pattern import PatternError, common_pattern, found_in
from support.effort import examples
from support.functions import OnPostgres
from support.together import together

ONES = (
    *"ab1-é😀^$.^$",
    *(r"\n", r"\.", r"\]", r"\\", r"\*", r"\d", r"\D", r"\w", r"\W", r"\s", r"\S"),
    *("[ab]", "[^a]", "[a-c-]", "[^[:/a&&]", r"[\w-.]", r"[\d\s]", r"[^\w-]"),
    *("[*-\U0001f64f]", "[^\1-\x7f]"),
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
    st.sampled_from(ONES), st.builds(str.__add__, st.sampled_from(ONES), st.sampled_from(COUNTS))
)
PATTERN = st.lists(st.recursive(ONE, _larger, max_leaves=8), max_size=4).map("".join)
TEXT = st.text("ab1-]é😀\n\r\u2028 .*\\A_", max_size=8)
TEXTS = ["", "a", "b", "ab", "ba", "aab", "\n", "a\n", "\na", "é", "😀", "a b1"]


@settings(max_examples=examples(50))
@given(PATTERN, st.lists(TEXT, max_size=6))
@example("(^|,)a(,|$)", [",a", "a,", "ba"])
@example("(?:){0}(|a)b*", ["b"])
@example("a{50}", ["a" * 49, "a" * 50])
def test_patterns_match_the_same_texts(
    postgres: OnPostgres, pattern: str, texts: list[str]
) -> None:
    try:
        common = common_pattern(pattern)
    except PatternError:
        assume(False)
    texts = [*TEXTS, *texts]

    rows = postgres.fetch(
        'SELECT given COLLATE "C" ~ $2 FROM unnest($1::text[]) WITH ORDINALITY'
        " AS each (given, number) ORDER BY number",
        texts,
        common,
    )

    assert [found for [found] in rows] == [found_in(text, common) for text in texts]


@together(
    "pattern",
    [
        "((b)*a*){40}c",
        "((((a|b)*)*){40}c)*d",
        "(" * 66 + "a" + ")*" * 66 + "b",
        "(^|a)" * 19 + "b" + "(a|$)" * 19,
        "[ab]*a" + "[ab]{50}" * 9 + "c",
        "[ab]*" * 38 + "c",
        "(.{0,50}){5}b",
        "(x?y?z?w?){40}q",
    ],
)
def test_patterns_of_any_size_are_not_too_complex(pattern: str, postgres: OnPostgres) -> None:
    text = "ab" * 2_000
    common = common_pattern(pattern)
    [[found]] = postgres.fetch('SELECT $1::text COLLATE "C" ~ $2', text, common)
    assert found is found_in(text, common)


@together(
    ("pattern", "text", "found"),
    [
        ("^a$", "a\n", False),
        ("a$", "a\nb", False),
        ("a.b", "a\u2028b", False),
        ("a.b", "a\x85b", True),
        ("a\\sb", "a\u00a0b", True),
        ("a\\sb", "a\vb", True),
        ("\\d", "\u0663", False),
        ("\\w", "é", False),
        ("[[:alpha:]", "b", False),
        ("[\\w-.]$", "-", True),
        ("^.$", "😀", True),
    ],
)
def test_patterns_mean_what_ecmascript_defines(
    pattern: str, text: str, found: bool, postgres: OnPostgres
) -> None:
    common = common_pattern(pattern)
    assert found_in(text, common) is found
    assert postgres.fetch('SELECT $1::text COLLATE "C" ~ $2', text, common)[0][0] is found
