"""The form of sets of names in the control tables, such as the companies of a client."""

from collections.abc import Iterable

import msgspec

_ALL = "*"
"""The stored names of what may access all companies, or has no roles."""


def names_of(stored: str) -> frozenset[str] | None:
    """The names, None for all."""
    return None if stored == _ALL else msgspec.json.decode(stored, type=frozenset[str])


def stored_names(names: Iterable[str] | None) -> str:
    """The text that is stored for names, None for all."""
    return _ALL if names is None else msgspec.json.encode(sorted(names)).decode()
