"""System query options (OData URL Conventions 4.01, section 5.1) and parameter aliases."""

import re
from collections.abc import Callable, Collection, Mapping
from functools import lru_cache
from urllib.parse import quote, unquote_to_bytes

import msgspec

from comptoir.errors import refusal_rows
from comptoir.request.headers import lowered

_VERSION = "$schemaversion"

LARGEST = 2**53
"""The value of any larger number, since tables have fewer records."""

_EXACT_DIGITS = 16

_ALIAS = re.compile(r"@([^\W\d]\w*)")


class QueryOptions(msgspec.Struct, frozen=True, rename="${}".format):
    """The decoded system options of a request; None for those that are not given.

    `aliases` are the parameter aliases, as pairs of a name without the `@` and a text. `given` has
    the names of the given system options, without `$schemaversion`, which belongs to any resource.
    Both keep the order of the request.
    """

    filter: str | None = None
    orderby: str | None = None
    top: int | None = None
    count: bool | None = None
    skiptoken: str | None = None
    deltatoken: str | None = None
    skip: int | None = None
    select: str | None = None
    expand: str | None = None
    search: str | None = None
    compute: str | None = None
    apply: str | None = None
    format: str | None = None
    id: str | None = None
    schemaversion: str | None = None
    aliases: tuple[tuple[str, str], ...] = ()
    given: tuple[str, ...] = ()


NO_OPTIONS = QueryOptions()

RESERVED = frozenset({*QueryOptions.__struct_encode_fields__, "$index", "$levels"}) - {
    "$aliases",
    "$given",
}
"""The names of system options."""

CACHED_NAMES = 256
"""Option names whose meaning is cached."""

CACHED_QUERIES = 1_000
"""Query strings whose parsed options are cached."""

LONG = 4_000
"""Characters from which a query string is long."""

CACHED_LONG_QUERIES = 100
"""Long query strings whose parsed options are cached."""


def whole_number(name: str, text: str, target: str, position: int | None = None) -> int:
    """The number in `text`, at most `LARGEST`; spaces around it are ignored.

    Raises `Refusal` (400) for other texts; `name` is the option, `position` its offset in `target`.
    """
    digits = text.strip(" \t")
    if not (digits.isascii() and digits.isdigit()):
        raise refusal_rows.NOT_A_WHOLE_NUMBER(target, position, value=text, option=name)
    # a number of more digits means all records, and need not be computed
    digits = digits.lstrip("0")
    return min(int(digits or "0"), LARGEST) if len(digits) <= _EXACT_DIGITS else LARGEST


def _boolean(name: str, text: str, target: str, position: int | None = None) -> bool:
    word = text.strip(" \t").lower()
    if word not in ("true", "false"):
        raise refusal_rows.NOT_A_BOOLEAN(target, position, value=text, option=name)
    return word == "true"


def _misplaced_levels(name: str, text: str, target: str, _: int | None = None) -> int:
    raise refusal_rows.LEVELS_OUTSIDE(target, option=name, value=text)


def _unsupported(name: str, _text: str, target: str, position: int | None = None) -> int:
    raise refusal_rows.NOT_SUPPORTED(target, position, construct=name)


_Reader = Callable[[str, str, str, int | None], int | bool | str]

VALUE_READERS: Mapping[str, _Reader] = {
    "$count": _boolean,
    "$index": _unsupported,
    "$levels": _misplaced_levels,
    "$schemaversion": _unsupported,
    "$skip": whole_number,
    "$top": whole_number,
}
"""Readers of the options that are not texts; they take the arguments of `whole_number`."""


class OptionParser:
    """Parses the query strings of requests.

    `versions` are the values of `$schemaversion`; without any, it is not supported, and neither are
    the options `unsupported`.
    """

    def __init__(self, versions: Collection[str] = (), unsupported: Collection[str] = ()) -> None:
        self._readers: dict[str, _Reader] = {**VALUE_READERS}
        self._readers.update(dict.fromkeys(unsupported, _unsupported))
        if versions:
            self._readers[_VERSION] = _one_of(versions)
        self._parsed = lru_cache(CACHED_QUERIES)(self._parse)
        self._parsed_long = lru_cache(CACHED_LONG_QUERIES)(self._parse)

    def parse(self, query: str) -> QueryOptions:
        """The system options and aliases of a query string, in which `+` is a space.

        Names of system options may lack the `$`, and their case does not matter. Other options are
        ignored, and so are empty ones (`&&`). Raises `Refusal`: 400 for an option that is unknown,
        repeated, without a value or malformed, 501 for one that is not supported.
        """
        if not query:
            return NO_OPTIONS
        return self._parsed_long(query) if len(query) > LONG else self._parsed(query)

    def _parse(self, query: str) -> QueryOptions:
        values: dict[str, object] = {}
        aliases: dict[str, str] = {}
        for part in query.split("&"):
            if not part:
                continue
            raw_name, _, raw_value = part.partition("=")
            name = system_name(raw_name)
            if name is None:
                if "@" in raw_name or "%40" in raw_name:
                    _add_alias(aliases, _decoded(raw_name), raw_value)
                continue
            if name in values:
                raise refusal_rows.GIVEN_TWICE(name, name=name)
            text = _decoded(raw_value, name)
            if name == "$search" and ";" in raw_value:
                _refuse_semicolons(raw_value)
            read = self._readers.get(name)
            if read is not None:
                values[name] = read(name, text, name, None)
            elif text:
                values[name] = text
            else:
                raise refusal_rows.EMPTY_OPTION(name, option=name)
        return query_options(values, tuple(aliases.items()))


def _one_of(versions: Collection[str]) -> _Reader:
    """The reader of `$schemaversion`."""
    listed = " or ".join(sorted(versions))

    def read(name: str, text: str, target: str, position: int | None = None) -> str:
        version = text.strip(" \t")
        if version not in versions:
            raise refusal_rows.OTHER_SCHEMA_VERSION(
                target, position, value=text, option=name, versions=listed
            )
        return version

    return read


_PHRASE_OR_SEMICOLON = re.compile(r'"[^"\\]*(?:\\.?[^"\\]*)*(?:"|\Z)|;', re.DOTALL)
"""A phrase of a search, closed or not, or a semicolon outside of phrases."""


def _refuse_semicolons(search: str) -> None:
    """Raise `Refusal` (400) for a semicolon that is neither encoded nor in a phrase.

    OData's ABNF excludes it from words, since it separates the options within `$expand`.
    """
    for found in _PHRASE_OR_SEMICOLON.finditer(_decoded(re.sub("(?i)%3b", " ", search))):
        if found[0] == ";":
            raise refusal_rows.SEMICOLON_IN_WORD("$search", found.start())


def query_options(
    values: Mapping[str, object], aliases: tuple[tuple[str, str], ...] = ()
) -> QueryOptions:
    """The options with these values, which have the option's name with the `$` as key."""
    if not values and not aliases:
        return NO_OPTIONS
    content = {**values, "$given": tuple([name for name in values if name != _VERSION])}
    if aliases:
        content["$aliases"] = aliases
    return msgspec.convert(content, QueryOptions)


@lru_cache(CACHED_NAMES)
def system_name(name: str) -> str | None:
    """The system option that a percent-encoded name means; None for a custom option.

    Raises `Refusal` (400) for an unknown name that begins with `$`, and for an empty one.
    """
    name = _decoded(name)
    # also spaces beyond ASCII, since an unknown name is ignored silently
    word = lowered(name.strip())
    if not word:
        raise refusal_rows.NAMELESS_OPTION()
    dollared = word if word.startswith("$") else f"${word}"
    if dollared in RESERVED:
        return dollared
    if word.startswith("$"):
        raise refusal_rows.UNKNOWN_OPTION(name[:40], known=sorted(RESERVED), name=name)
    return None


_TOKENS = frozenset({"$deltatoken", "$skiptoken"})

_SERVER_PAGING = "aid=FIN"
"""Marks the links to next pages of Business Central."""


def continued(query: str, *tokens: tuple[str, str]) -> str:
    """The query string of a following page: `query` with its tokens replaced by others."""
    parts = [part for part in query.split("&") if part]
    others = [part for part in parts if system_name(part.partition("=")[0]) not in _TOKENS]
    return "&".join([*others, *(f"{name}={token}" for name, token in tokens)])


def continued_after(query: str, rows: int, *tokens: tuple[str, str]) -> str:
    """The query string of the page after one of `rows` records, as Business Central writes it.

    It begins with `aid=FIN`, has other tokens, lacks `$skip`, and its `$top` is the number of the
    records that are left.
    """
    others: list[str] = []
    for part in query.split("&"):
        raw_name, _, raw_value = part.partition("=")
        name = system_name(raw_name) if part else None
        if name == "$top":
            left = whole_number(name, _decoded(raw_value, name), name) - rows
            others.append(f"{name}={left}")
        elif name != "$skip" and part not in ("", _SERVER_PAGING):
            others.append(part)
    quoted_tokens = [(name, quote(token, safe=",")) for name, token in tokens]
    return f"{_SERVER_PAGING}&{continued('&'.join(others), *quoted_tokens)}"


def query_string(options: QueryOptions) -> str:
    """The query string that `OptionParser` reads as these options."""
    values: list[tuple[str, str]] = []
    for name in options.given:
        value: object = getattr(options, name[1:])
        values.append((name, str(value).lower() if isinstance(value, bool) else str(value)))
    values += [(f"@{name}", text) for name, text in options.aliases]
    return "&".join([f"{name}={quote(text, safe='')}" for name, text in values])


def _add_alias(aliases: dict[str, str], name: str, raw_value: str) -> None:
    found = _ALIAS.fullmatch(name.strip())
    if found is None:
        if not name.lstrip().startswith("@"):
            return
        raise refusal_rows.NOT_AN_ALIAS(name[:40], name=name)
    alias = f"@{found[1][:60]}"
    if found[1] in aliases:
        raise refusal_rows.GIVEN_TWICE(alias, name=alias)
    text = _decoded(raw_value, alias)
    if not text.strip():
        raise refusal_rows.EMPTY_OPTION(alias, option=alias)
    aliases[found[1]] = text


def _decoded(text: str, option: str | None = None) -> str:
    """The text of an option's value or, without `option`, of its name."""
    if text.isascii():
        if "%" not in text and "+" not in text:
            return text
        # most texts have nothing else encoded, and this is faster
        text = text.replace("+", " ").replace("%20", " ").replace("%27", "'")
        if "%" not in text:
            return text
    try:
        # the server passes bytes as Latin-1; bytes that are not percent-encoded are UTF-8 too
        return unquote_to_bytes(text.replace("+", " ").encode("latin-1")).decode()
    except UnicodeError:
        shown = option or "the query"
        raise refusal_rows.NOT_UTF_8(option, text=text, option=shown) from None
