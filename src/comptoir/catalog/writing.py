"""Writes catalogs in TOML, which the standard library only reads."""

import re
from collections.abc import Iterator, Mapping

import msgspec

_BARE = re.compile(r"[\w-]+", re.ASCII)
_TABLES = ("sets", "enums", "properties", "navigation", "actions", "business_central")
"""The tables that are written with a header of their own, and not within a line."""


def toml_of(content: Mapping[str, object]) -> str:
    """The text of a catalog, whose content is that of a file."""
    return "\n".join([*_lines("", content), ""]).lstrip("\n")


def _lines(path: str, table: Mapping[str, object]) -> Iterator[str]:
    headed = {
        name: value
        for name, value in table.items()
        if isinstance(value, Mapping) and (path == "sets" or name in _TABLES)
    }
    if path not in ("", "sets"):
        yield from ("", f"[{path}]")
    for name, value in table.items():
        if name not in headed:
            yield toml_line(name, value)
    for name, value in headed.items():
        yield from _lines(f"{path}.{key(name)}".removeprefix("."), value)


def toml_line(name: str, value: object) -> str:
    """A line with a key and its value."""
    return f"{key(name)} = {_toml(value)}"


def key(name: str) -> str:
    """A name as a key."""
    return name if _BARE.fullmatch(name) else _toml(name)


def _toml(value: object) -> str:
    """A value, whose texts and numbers are those of JSON."""
    if isinstance(value, Mapping):
        inner = ", ".join(toml_line(str(name), each) for name, each in value.items())
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    return msgspec.json.encode(value).decode()
