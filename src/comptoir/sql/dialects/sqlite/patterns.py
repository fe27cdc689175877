"""Patterns of `matchesPattern` on SQLite: the service itself matches them, in linear time."""

from collections.abc import Callable

from comptoir.request.pattern import compiled_pattern


def matches_pattern(text: str, pattern: str, check: Callable[[], None]) -> int:
    """Whether a pattern matches anywhere in a text; `check` raises when the statement must end."""
    return int(compiled_pattern(pattern).found_in(text, check))
