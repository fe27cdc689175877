"""The growth of a catalog: what a later one may add to the one that a database has."""

import json
import re
from collections.abc import Iterator, Mapping

_LENGTH = re.compile(r"String(?:\((\d+)\))?")
_ANY_LENGTH = 1 << 30
_FOR_PEOPLE = frozenset(
    {"base", "caption", "description", "suggested", "source", "business_central"}
)
"""The options on which no stored value depends."""

_GROWING = frozenset({"indexes", "members"})
"""The options whose list may get longer."""

_DECLARING = re.compile(r"|sets|enums|sets\.[^.]+\.(?:properties|navigation)")
"""The tables whose names are declared in the file, not options."""


def conflicts(former: str, wanted: str) -> list[str]:
    """What a catalog changes or lacks of a former one; both are sources of models."""
    return list(_conflicts("", json.loads(former), json.loads(wanted)))


def _conflicts(
    path: str, former: Mapping[str, object], wanted: Mapping[str, object]
) -> Iterator[str]:
    for name in dict.fromkeys([*former, *wanted]):
        place = f"{path}.{name}".removeprefix(".")
        one, other = former.get(name), wanted.get(name)
        if one == other or name in _FOR_PEOPLE:
            continue
        if other is None:
            yield f"{place} is missing"
        elif one is None:
            if not _DECLARING.fullmatch(path) and name not in ("navigation", "indexes"):
                yield f"{place} is new"
        elif isinstance(one, dict) or isinstance(other, dict):
            yield from _conflicts(place, _options(one), _options(other))
        elif not _has_grown(name, one, other):
            yield f"{place} is {_text(other)} and was {_text(one)}"


def _options(value: object) -> Mapping[str, object]:
    """The options of a property, which may be written as its type alone."""
    return value if isinstance(value, dict) else {"type": value}


def _has_grown(name: str, one: object, other: object) -> bool:
    if name in _GROWING and isinstance(one, list) and isinstance(other, list):
        return other[: len(one)] == one
    return _length(other) >= _length(one) > 0


def _length(edm_type: object) -> int:
    """The most characters of a type of text; 0 for another type."""
    match = _LENGTH.fullmatch(edm_type) if isinstance(edm_type, str) else None
    return int(match[1] or _ANY_LENGTH) if match else 0


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)
