"""The growth of a catalog: what a later one may add to the one that a database has."""

import json
import re
from collections.abc import Container, Iterator, Mapping, Sequence
from functools import lru_cache
from operator import le
from typing import NamedTuple

LIKE = 8
"""The comparisons of two catalogs that are kept."""

_SIZED = re.compile(r"String(?:\((\d+)\))?|Decimal\((\d+),(\d+)\)")
_ANY_LENGTH = 1 << 30
_TEXTS = frozenset({"caption", "list_caption", "description", "columns"})
"""The options that only people see; `description` is in `$metadata` too."""

_FREE = _TEXTS | frozenset(
    {"suggested", "source", "business_central", "if_match", "contained", "check", "change"}
)
"""The options on which no stored value depends."""

_GROWING = frozenset({"indexes", "members", "unique"})
"""The options whose list may get longer."""

_ADDED = _GROWING | {"navigation", "type", "actions", "on"}
"""The options that a set may get, and `on` of a navigation property.

A set of the base may get another name for its entity type.
"""

_DECLARING = re.compile(r"|sets|enums|sets\.[^.]+\.(?:properties|navigation|actions)")
"""The tables whose names are declared in the file, not options."""

_VIEW = re.compile(r"sets\.[^.]+\.view")
"""The tables whose `columns` are those of another set."""


def declared_sets(source: str) -> Container[str]:
    """The names of the sets that a catalog declares, or adds to."""
    sets: Container[str] = json.loads(source or "{}").get("sets", ())
    return sets


class Change(NamedTuple):
    """A difference of two catalogs, in words, and whether a database can get it."""

    text: str
    is_addition: bool


def changes(former: str, wanted: str) -> list[Change]:
    """The differences of a catalog from a former one; both are sources of models."""
    return list(_changes("", json.loads(former), json.loads(wanted)))


def conflicts(former: str, wanted: str) -> list[str]:
    """The differences of a catalog from a former one that are not additions."""
    return [each.text for each in changes(former, wanted) if not each.is_addition]


def is_earlier(catalog: str, other: str) -> bool:
    """Whether a catalog lacks what another one adds to it."""
    return bool(conflicts(other, catalog)) and not conflicts(catalog, other)


@lru_cache(LIKE)
def is_like(catalog: str, other: str) -> bool:
    """Whether two catalogs differ in nothing but texts, so that services with both serve alike."""
    bare = [json.dumps(_without_texts("", json.loads(each))) for each in (catalog, other)]
    return bare[0] == bare[1]


def _without_texts(path: str, table: Mapping[str, object]) -> Mapping[str, object]:
    kept = {}
    for name, value in table.items():
        if not (_is_option(path) and name in _TEXTS):
            place = f"{path}.{name}".removeprefix(".")
            kept[name] = _without_texts(place, value) if isinstance(value, dict) else value
    return kept


def _is_option(path: str) -> bool:
    """Whether the keys of a table are options, and not names that the file declares."""
    return not (_DECLARING.fullmatch(path) or _VIEW.fullmatch(path))


def _changes(
    path: str, former: Mapping[str, object], wanted: Mapping[str, object]
) -> Iterator[Change]:
    for name in dict.fromkeys([*former, *wanted]):
        place = f"{path}.{name}".removeprefix(".")
        one, other = former.get(name), wanted.get(name)
        if one == other or (_is_option(path) and name in _FREE):
            continue
        if other is None:
            yield Change(f"{place} is missing", is_addition=False)
        elif one is None or (name == "on" and one == {}):
            is_addition = bool(_DECLARING.fullmatch(path)) or name in _ADDED
            yield Change(f"{place} is new", is_addition)
        elif path == "enums" or isinstance(one, dict) or isinstance(other, dict):
            yield from _changes(place, _options(one), _options(other))
        else:
            text = f"{place} is {_text(other)} and was {_text(one)}"
            yield Change(text, _has_grown(name, one, other))


def _options(value: object) -> Mapping[str, object]:
    """The options of a property or an enumeration, which may be written as one of them alone."""
    if isinstance(value, dict):
        return value
    return {"members" if isinstance(value, list) else "type": value}


def _has_grown(name: str, one: object, other: object) -> bool:
    if name in _GROWING and isinstance(one, list) and isinstance(other, list):
        # a member may have its name, or its name and a caption
        former, wanted = [
            [each[0] if name == "members" and isinstance(each, list) else each for each in listed]
            for listed in (one, other)
        ]
        return wanted[: len(former)] == former
    if isinstance(one, int | float) and isinstance(other, int | float):
        return other > one if name == "maximum" else other < one and name == "minimum"
    sizes, wanted_sizes = _sizes(one), _sizes(other)
    return 0 < len(sizes) == len(wanted_sizes) and all(map(le, sizes, wanted_sizes))


def _sizes(edm_type: object) -> Sequence[int]:
    """The most characters of a text, or digits of a Decimal before and after its point."""
    match = _SIZED.fullmatch(edm_type) if isinstance(edm_type, str) else None
    if match is None:
        return ()
    length, digits, decimals = match.groups()
    if digits is None:
        return (int(length or _ANY_LENGTH),)
    return int(digits) - int(decimals), int(decimals)


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)
