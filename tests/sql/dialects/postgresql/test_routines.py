"""PostgreSQL changes case, trims and folds texts as Python does."""

import sys
from collections.abc import Callable

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from comptoir.plan.expressions.options import fold
from comptoir.sql.dialects.postgresql.routines import SEPARATOR
from support.effort import examples
from support.functions import OnPostgres

ROW = 1_000
CODES = [*range(1, 0xD800), *range(0xE000, sys.maxunicode + 1)]
EVERY_CHARACTER = [
    "".join(map(chr, CODES[start : start + ROW])) for start in range(0, len(CODES), ROW)
]
LETTERS = (
    "aZ'.:^`-_%\\ \nΣ\u03c3ςΔά\u0301\u0345\u00ad\u02b0\u2019ßẞéÉİ\u0131ǅŉﬁΐᾳÞþДж中😀𐐀𐐨ⅷⓐꭰᏐ\uffff"
)
TEXT = st.one_of(
    st.text(LETTERS, max_size=12),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12),
)

CHANGES: dict[str, Callable[[str], str]] = {
    "tolower": str.lower,
    "toupper": str.upper,
    "trim": str.strip,
}


def test_the_case_of_every_character_is_pythons(postgres: OnPostgres) -> None:
    for name, change in (
        ("tolower", str.lower),
        ("toupper", str.upper),
        ("casefold", str.casefold),
    ):
        assert postgres.each(name, EVERY_CHARACTER) == [change(row) for row in EVERY_CHARACTER]


def test_every_blank_is_trimmed_and_nothing_else(postgres: OnPostgres) -> None:
    texts = [f"{chr(code)}x{chr(code)}" for code in CODES if code < 0x1_0000]
    assert postgres.each("trim", texts) == [each.strip() for each in texts]


@pytest.mark.parametrize("name", sorted(CHANGES))
def test_the_case_of_texts_is_pythons(name: str, postgres: OnPostgres) -> None:
    @settings(max_examples=examples(20))
    @given(st.lists(TEXT, min_size=1, max_size=20))
    @example(["ΔΣ", "Σ", "ΔΣΣ", "ΔΣ.Δ", "Δ.Σ", "ΔΣ'", "Σ\u0301", "a\u0345Σ\u0345", "aΣ-", "aΣ😀b"])
    def check(texts: list[str]) -> None:
        assert postgres.each(name, texts) == [CHANGES[name](text) for text in texts]

    check()


@settings(max_examples=examples(30))
@given(st.lists(TEXT, min_size=1, max_size=5))
@example([f"a{SEPARATOR}b", "c"])
@example(["İ", "ß"])
def test_the_separator_is_in_no_folded_text(postgres: OnPostgres, texts: list[str]) -> None:
    folded = postgres.call("fold", (False,) * len(texts), texts)

    assert isinstance(folded, str)
    assert folded.split(SEPARATOR) == [fold(text) for text in texts]


@settings(max_examples=examples(30))
@given(TEXT, TEXT)
@example("a%b", "%")
@example("ab", "_")
@example("a\\b", "\\")
def test_the_like_pattern_of_a_term_matches_texts_that_contain_it(
    postgres: OnPostgres, text: str, term: str
) -> None:
    for each in (text, text + term + text):
        [[is_like]] = postgres.fetch(
            'SELECT $1::text COLLATE "C" LIKE comptoir_likeness($2)', each, term
        )
        assert is_like is (term in each)
