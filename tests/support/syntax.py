"""Assertions of the tests of query option parsers."""

from collections.abc import Callable

import pytest

from comptoir.errors import INVALID_URL, NOT_IMPLEMENTED, Refusal


def malformed(read: Callable[[str], object], text: str, option: str, column: int) -> Refusal:
    """The refusal (400) of a text, which must name the option and the column of the fault.

    An empty text has no column.
    """
    refusal = _refused(read, text, option)
    assert refusal.error is INVALID_URL, refusal.message
    if text.strip(" \t"):
        assert f" at column {column} of {option}. " in refusal.message, refusal.message
    else:
        assert refusal.message.startswith(f"{option} is empty. "), refusal.message
    return refusal


def unsupported(read: Callable[[str], object], text: str, option: str, named: str) -> None:
    """Check that a text is refused (501) with the name of the unsupported feature."""
    refusal = _refused(read, text, option)
    assert refusal.error is NOT_IMPLEMENTED, refusal.message
    assert named in refusal.message, refusal.message


def _refused(read: Callable[[str], object], text: str, option: str) -> Refusal:
    with pytest.raises(Refusal) as caught:
        read(text)
    assert caught.value.target == option
    assert len(caught.value.message) < 300
    return caught.value


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
