"""Assertions of the tests of query option parsers."""

from collections.abc import Callable

from comptoir.errors.refusal import Refusal


def is_read_or_refused(read: Callable[[str], object], text: str, option: str) -> None:
    """Check that a text is read, or refused by a short message that names the option."""
    refusal = refusal_of(read, text)
    if refusal is None:
        assert read(text) == read(text)
    else:
        assert refusal.target == option
        assert f" of {option}. " in refusal.message or refusal.message.startswith(f"{option} ")
        assert len(refusal.message) < 400


def refusal_of(read: Callable[[str], object], text: str) -> Refusal | None:
    """The refusal of a text; None if it is valid."""
    try:
        read(text)
    except Refusal as refusal:
        return refusal
    return None
