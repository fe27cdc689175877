"""Searches in plain Python, each with its text in `$search`."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy


@dataclass(frozen=True)
class Search:
    """A search: its text, and whether it matches a record with these texts."""

    text: str
    finds: Callable[[Iterable[str]], bool]


def term(text: str) -> Search:
    """A word or phrase: it matches a record if a text contains it in any case."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    folded = text.casefold()
    return Search(f'"{escaped}"', lambda texts: any(folded in each.casefold() for each in texts))


def negated(operand: Search) -> Search:
    return Search(f"NOT ({operand.text})", lambda texts: not operand.finds(texts))


def joined(operator: str, operands: list[Search]) -> Search:
    every = all if operator == "AND" else any
    return Search(
        f" {operator} ".join(f"({each.text})" for each in operands),
        lambda texts: every(each.finds(texts) for each in operands),
    )


_PARTS = (
    *("a", "A", "ab", "abc", "ABCD", "bcd", " ", "  ", "%", "_", "*", "-", "^", "'", '"', "\\"),
    *("ß", "ss", "SS", "\u017f", "Straße", "STRASSE"),
    *("İ", "i", "\u0131", "I", "i\u0307", "İstanbul"),
    *("\u03c3", "ς", "Σ", "ΟΔΟΣ", "οδος", "é", "e\u0301", "É", "\u0301", "ﬃ", "ffi", "Ǆ", "ǆ"),
    *("北京", "北京市", "東京都", "กรุงเทพ", "เท", "😀", "😀😀", "👩\u200d👧", "\uffff", "\u200b"),
    *("NEAR", "AND", "displayName:", "(", ")", "\n", "\x1f", "Ж", "ж", "Ⴀ", "\u13a0", "ꭰ"),
)
TEXTS = st.lists(st.sampled_from(_PARTS), max_size=6).map("".join)
"""Texts of a few parts in many scripts, so that some contain others."""

_WORDS = st.lists(st.sampled_from(_PARTS), min_size=1, max_size=3).map("".join)

SEARCHES: SearchStrategy[Search] = st.recursive(
    _WORDS.filter(str.strip).map(term),
    lambda inner: st.one_of(
        st.builds(negated, inner),
        st.builds(joined, st.sampled_from(["AND", "OR"]), st.lists(inner, min_size=2, max_size=4)),
    ),
    max_leaves=8,
)
"""Searches of terms, AND, OR and NOT."""
