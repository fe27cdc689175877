"""System query options (OData URL Conventions 4.01, section 5.1): names to texts."""

from collections.abc import Mapping
from functools import lru_cache
from urllib.parse import quote, unquote_to_bytes

import msgspec

from comptoir.errors import INVALID_URL, NOT_IMPLEMENTED, Refusal

SUPPORTED = frozenset({"$filter", "$orderby", "$top", "$count", "$skiptoken", "$deltatoken"})
RESERVED = SUPPORTED | {
    "$apply",
    "$compute",
    "$expand",
    "$format",
    "$id",
    "$index",
    "$levels",
    "$schemaversion",
    "$search",
    "$select",
    "$skip",
}

_LARGEST_COUNT = 2**53


class QueryOptions(msgspec.Struct, frozen=True):
    """The system options of a request, as texts; None where one is not given."""

    filter: str | None = None
    orderby: str | None = None
    top: int | None = None
    count: bool | None = None
    skiptoken: str | None = None
    deltatoken: str | None = None

    @property
    def given(self) -> tuple[str, ...]:
        """The names of the options that the request gives."""
        held = {
            "$filter": self.filter is not None,
            "$orderby": self.orderby is not None,
            "$top": self.top is not None,
            "$count": self.count is not None,
            "$skiptoken": self.skiptoken is not None,
            "$deltatoken": self.deltatoken is not None,
        }
        return tuple(name for name, is_given in held.items() if is_given)


NO_OPTIONS = QueryOptions()

NAMES_KEPT = 256
"""How many names of options are kept with what they mean."""

QUERIES_KEPT = 1_000
"""How many parsed query strings are kept, for those who ask again."""


@lru_cache(QUERIES_KEPT)
def parse_options(query: str) -> QueryOptions:
    """Read the system options of a query string; `+` is a blank, other options are ignored.

    Names of system options are taken with or without `$` and in any case. Raises `Refusal`: 400
    for an option that is unknown, repeated or malformed, 501 for one that is not supported.
    """
    if not query:
        return NO_OPTIONS
    texts: dict[str, str] = {}
    for part in query.split("&"):
        raw_name, _, raw_value = part.partition("=")
        name = system_name(_decoded(raw_name))
        if name is None:
            continue
        if name not in SUPPORTED:
            raise Refusal(
                NOT_IMPLEMENTED,
                f"The query option {name} is not supported. Ask without it.",
                target=name,
            )
        if name in texts:
            raise Refusal(INVALID_URL, f"The query option {name} is given twice.", target=name)
        texts[name] = _decoded(raw_value)
    return _typed(texts)


@lru_cache(NAMES_KEPT)
def system_name(name: str) -> str | None:
    """The system option that a name means, None for a custom option; raises `Refusal` (400)."""
    lowered = name.strip().lower()
    dollared = lowered if lowered.startswith("$") else f"${lowered}"
    if dollared in RESERVED:
        return dollared
    if lowered.startswith("$"):
        raise Refusal(
            INVALID_URL,
            f"The query option {name[:40]!r} is unknown: OData reserves names that begin with $.",
            target=name[:40],
        )
    return None


_TOKENS = frozenset({"$deltatoken", "$skiptoken"})


def continued(query: str, *tokens: tuple[str, str]) -> str:
    """The query string that asks the same, further on: with tokens in place of those it has."""
    parts = [part for part in query.split("&") if part]
    kept = [part for part in parts if system_name(_decoded(part.partition("=")[0])) not in _TOKENS]
    return "&".join([*kept, *(f"{name}={token}" for name, token in tokens)])


def query_string(options: QueryOptions) -> str:
    """The query string that gives these options."""
    held = {
        "$filter": options.filter,
        "$orderby": options.orderby,
        "$top": options.top,
        "$count": None if options.count is None else str(options.count).lower(),
    }
    given = [(name, value) for name, value in held.items() if value is not None]
    return "&".join([f"{name}={quote(str(value), safe='')}" for name, value in given])


def _typed(texts: Mapping[str, str]) -> QueryOptions:
    count = texts["$count"].strip().lower() if "$count" in texts else None
    if count not in (None, "true", "false"):
        raise Refusal(INVALID_URL, "$count must be true or false.", target="$count")
    return QueryOptions(
        filter=texts.get("$filter"),
        orderby=texts.get("$orderby"),
        top=None if "$top" not in texts else _whole("$top", texts["$top"].strip()),
        count=None if count is None else count == "true",
        skiptoken=texts.get("$skiptoken"),
        deltatoken=texts.get("$deltatoken"),
    )


def _whole(name: str, text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise Refusal(
            INVALID_URL,
            f"{name} must be a whole number from 0 on, but {text[:40]!r} was sent.",
            target=name,
        )
    # more digits than this mean "all", and need not be computed with
    return min(int(text[:16]), _LARGEST_COUNT) if len(text) <= 16 else _LARGEST_COUNT


def _decoded(text: str) -> str:
    if text.isascii() and "%" not in text and "+" not in text:
        return text
    try:
        # a server hands over bytes as Latin-1; those that a client did not encode are UTF-8 too
        return unquote_to_bytes(text.replace("+", " ").encode("latin-1")).decode()
    except UnicodeDecodeError:
        raise Refusal(
            INVALID_URL, f"The percent-encoding of {text[:40]!r} in the query is not UTF-8."
        ) from None
