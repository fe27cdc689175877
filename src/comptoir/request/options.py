"""System query options (OData URL Conventions 4.01, section 5.1): names to texts."""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from urllib.parse import quote, unquote_to_bytes

import msgspec

from comptoir.errors import INVALID_URL, NOT_IMPLEMENTED, Refusal
from comptoir.messages import suggestion
from comptoir.request.numbers import truth, whole_number
from comptoir.request.words import lowered

RESERVED = frozenset(
    {
        "$apply",
        "$compute",
        "$count",
        "$deltatoken",
        "$expand",
        "$filter",
        "$format",
        "$id",
        "$index",
        "$levels",
        "$orderby",
        "$schemaversion",
        "$search",
        "$select",
        "$skip",
        "$skiptoken",
        "$top",
    }
)

SHELL_HINT = (
    "A shell may have removed the name: put the URL in single quotes, or write `\\$filter`."
)
"""What to do about an option without a name: in double quotes a shell replaces `$filter`."""

_ALIAS = re.compile(r"@([^\W\d]\w*)")


class QueryOptions(msgspec.Struct, frozen=True, rename="${}".format):
    """The system options of a request, as texts; None where one is not given.

    `aliases` are the parameter aliases, as pairs of a name without the `@` and a text, and `given`
    the names of the system options that are given; both in their order. `query_options` makes it.
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
    aliases: tuple[tuple[str, str], ...] = ()
    given: tuple[str, ...] = ()


NO_OPTIONS = QueryOptions()

NAMES_KEPT = 256
"""How many names of options are kept with what they mean."""

QUERIES_KEPT = 1_000
"""How many parsed query strings are kept, for those who ask again."""

LONG = 4_000
"""How many characters a query string has that is long."""

LONG_QUERIES_KEPT = 100
"""How many long ones are kept."""


def _misplaced_levels(name: str, text: str, target: str) -> int:
    raise Refusal(
        INVALID_URL,
        f"{name} belongs in the parentheses of an item of $expand: "
        f"$expand=company({name}={text[:20]}).",
        target=target,
    )


def _unsupported(name: str, text: str, target: str) -> int:
    raise Refusal(
        NOT_IMPLEMENTED,
        f"The query option {name}={text[:20]} is not supported. Ask without it.",
        target=target,
    )


VALUE_READERS: Mapping[str, Callable[[str, str, str], int | bool]] = {
    "$count": truth,
    "$index": _unsupported,
    "$levels": _misplaced_levels,
    "$schemaversion": _unsupported,
    "$skip": whole_number,
    "$top": whole_number,
}
"""Readers of the options whose value is not a text. Each takes a name, a text and a target."""


def parse_options(query: str) -> QueryOptions:
    """Read the system options and aliases of a query string; `+` is a blank.

    Names of system options are taken with or without `$` and in any case; options of other names
    are ignored. Raises `Refusal`: 400 for an option that is unknown, repeated, empty or malformed,
    501 for one that is not supported. Nothing between two `&` is not an option.
    """
    if not query:
        return NO_OPTIONS
    return _parsed_long(query) if len(query) > LONG else _parsed(query)


def _parse(query: str) -> QueryOptions:
    held: dict[str, object] = {}
    aliases: dict[str, str] = {}
    for part in query.split("&"):
        if not part:
            continue
        raw_name, _, raw_value = part.partition("=")
        name = system_name(raw_name)
        if name is None:
            if "@" in raw_name or "%40" in raw_name:
                _take_alias(aliases, _decoded(raw_name), raw_value)
            continue
        if name in held:
            raise Refusal(INVALID_URL, f"The query option {name} is given twice.", target=name)
        if name == "$search" and ";" in raw_value:
            _refuse_semicolons(raw_value)
        text = _decoded(raw_value)
        read = VALUE_READERS.get(name)
        if read is not None:
            held[name] = read(name, text, name)
        elif text:
            held[name] = text
        else:
            raise Refusal(
                INVALID_URL, f"{name} is empty. Give it a value, or leave it out.", target=name
            )
    return query_options(held, tuple(aliases.items()))


_parsed = lru_cache(QUERIES_KEPT)(_parse)
_parsed_long = lru_cache(LONG_QUERIES_KEPT)(_parse)


_PHRASE_OR_SEMICOLON = re.compile(
    r"""
      (?:"|%22)
      (?:[^"\\%]|%(?!22|5[Cc])|(?:\\|%5[Cc])(?:%[0-9A-Fa-f]{2}|.)?)*
      (?:"|%22|\Z)
    | ;
    """,
    re.VERBOSE | re.DOTALL,
)
"""A phrase of a search, percent-encoded and perhaps not closed, or a semicolon outside one."""


def _refuse_semicolons(search: str) -> None:
    """Raise `Refusal` (400) for a semicolon that is neither encoded nor in a phrase.

    OData's ABNF keeps it out of words, since it separates the options within `$expand`.
    """
    for found in _PHRASE_OR_SEMICOLON.finditer(search):
        if found[0] == ";":
            column = len(_decoded(search[: found.start()])) + 1
            raise Refusal(
                INVALID_URL,
                f"$search: the `;` at column {column} is not part of a word. Write it as %3B, or "
                "put the words in double quotes.",
                target="$search",
            )


def query_options(
    held: Mapping[str, object], aliases: tuple[tuple[str, str], ...] = ()
) -> QueryOptions:
    """The options with these values, by their names with the `$`."""
    if not held and not aliases:
        return NO_OPTIONS
    content = {**held, "$given": tuple(held)}
    if aliases:
        content["$aliases"] = aliases
    return msgspec.convert(content, QueryOptions)


@lru_cache(NAMES_KEPT)
def system_name(name: str) -> str | None:
    """The system option that a percent-encoded name means, None for an option of another kind.

    Raises `Refusal` (400) for an unknown name that begins with `$`, and for an empty one.
    """
    name = _decoded(name)
    # blanks of all kinds: an option that is not known by its name is ignored
    word = lowered(name.strip())
    if not word:
        raise Refusal(INVALID_URL, f"A query option has no name before its `=`. {SHELL_HINT}")
    dollared = word if word.startswith("$") else f"${word}"
    if dollared in RESERVED:
        return dollared
    if word.startswith("$"):
        raise Refusal(
            INVALID_URL,
            f"The query option {name[:40]!r} is unknown: OData reserves names that begin with $. "
            f"{suggestion(name, sorted(RESERVED))}".rstrip(),
            target=name[:40],
        )
    return None


_TOKENS = frozenset({"$deltatoken", "$skiptoken"})


def continued(query: str, *tokens: tuple[str, str]) -> str:
    """The query string that asks the same, further on: with tokens in place of those it has."""
    parts = [part for part in query.split("&") if part]
    kept = [part for part in parts if system_name(part.partition("=")[0]) not in _TOKENS]
    return "&".join([*kept, *(f"{name}={token}" for name, token in tokens)])


def query_string(options: QueryOptions) -> str:
    """The query string that gives these options."""
    held: list[tuple[str, str]] = []
    for name in options.given:
        value: object = getattr(options, name[1:])
        held.append((name, str(value).lower() if isinstance(value, bool) else str(value)))
    held += [(f"@{name}", text) for name, text in options.aliases]
    return "&".join([f"{name}={quote(text, safe='')}" for name, text in held])


def _take_alias(aliases: dict[str, str], name: str, raw_value: str) -> None:
    found = _ALIAS.fullmatch(name.strip())
    if found is None:
        if not name.lstrip().startswith("@"):
            return
        raise Refusal(
            INVALID_URL,
            f"{name[:40]!r} is no parameter alias: behind the @ stands a name.",
            target=name[:40],
        )
    alias = f"@{found[1][:60]}"
    if found[1] in aliases:
        raise Refusal(INVALID_URL, f"The parameter alias {alias} is given twice.", target=alias)
    text = _decoded(raw_value)
    if not text.strip():
        raise Refusal(
            INVALID_URL,
            f"The parameter alias {alias} is empty. Give it a value, such as {alias}='A'.",
            target=alias,
        )
    aliases[found[1]] = text


def _decoded(text: str) -> str:
    if text.isascii():
        if "%" not in text and "+" not in text:
            return text
        # most texts have nothing else encoded, and this is faster
        text = text.replace("+", " ").replace("%20", " ").replace("%27", "'")
        if "%" not in text:
            return text
    try:
        # a server hands over bytes as Latin-1; those that a client did not encode are UTF-8 too
        return unquote_to_bytes(text.replace("+", " ").encode("latin-1")).decode()
    except UnicodeError:
        raise Refusal(
            INVALID_URL, f"The percent-encoding of {text[:40]!r} in the query is not UTF-8."
        ) from None
