"""Assertions of the tests of query option parsers."""

from collections.abc import Callable

from comptoir.errors.refusal import Refusal


def reads_back(
    read: Callable[[str], object], printed: Callable[[str], str], text: str, option: str
) -> None:
    """Check that a text is refused by name, or has the result of its canonical text."""
    refusal = refusal_of(read, text)
    if refusal is None:
        assert read(printed(text)) == read(text)
    else:
        assert refusal.target == option
        assert len(refusal.message) < 400


def refusal_of(read: Callable[[str], object], text: str) -> Refusal | None:
    """The refusal of a text; None if it is valid."""
    try:
        read(text)
    except Refusal as refusal:
        return refusal
    return None
