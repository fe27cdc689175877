"""Assertions of the tests of query option parsers."""

from collections.abc import Callable

from comptoir.errors.refusal import Refusal
from comptoir.request.expression.tree import Syntax


def content(tree: object) -> list[object]:
    """A tree or a tuple of trees without positions, in prefix order, and without recursion.

    The length of each tuple precedes it, so that the contents of no two trees are equal.
    """
    found: list[object] = []
    pending = [tree]
    while pending:
        part = pending.pop()
        if isinstance(part, Syntax):
            found.append(type(part))
            names = [each for each in part.__struct_fields__ if not each.startswith("position")]
            pending.extend(getattr(part, each) for each in names)
        elif isinstance(part, tuple):
            found.append(len(part))
            pending.extend(part)
        else:
            found.append(part)
    return found


def refusal_of(read: Callable[[str], object], text: str) -> Refusal | None:
    """The refusal of a text; None if it is valid."""
    try:
        read(text)
    except Refusal as refusal:
        return refusal
    return None
