"""The path and the query of a request, parsed once.

Paths have the form `companies(<guid>)/contactsExt(<key>)` (OData URL Conventions 4.01, section 4).
"""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import pairwise
from urllib.parse import unquote_to_bytes

import msgspec

from comptoir.errors import refusal_rows as rows
from comptoir.errors.refusal import Refusal, RefusalRow
from comptoir.request.aliases import Aliases, parse_aliases, resolve, shown_alias
from comptoir.request.expression.parser import ExpressionLimits
from comptoir.request.expression.tree import Literal, Parameter
from comptoir.request.headers import DEFAULT, Format, Headers, Preferences, preferences
from comptoir.request.options import NO_OPTIONS, OptionParser, QueryOptions

COMPANIES = "companies"
"""The name of the set of companies, with one of which most paths begin."""

READ_METHODS = frozenset({"GET", "HEAD"})

WRITE_METHODS = frozenset({"POST", "PATCH", "PUT", "DELETE"})


_SEGMENT = re.compile(r"([$A-Za-z_][\w.]*)(?:\((.*)\))?", re.ASCII | re.DOTALL)
_KEY_PART = re.compile(
    r"(?:([A-Za-z_]\w*)=)?(?:'([^']*(?:''[^']*)*)'(?!')|(@[^\W\d]\w*|[^'@,=()\s]+))(, *|\Z)"
)
# most records are read by a key like this, which no other expression needs to look at
_GUID = re.compile("-".join(f"[0-9A-Fa-f]{{{digits}}}" for digits in (8, 4, 4, 4, 12)))
_PLAIN_KEY = re.compile(rf"([A-Za-z_]\w*)\((?:({_GUID.pattern})|([\w-]+))\)", re.ASCII)
_WITHOUT_KEY = frozenset({"$crossjoin", "$filter"})
_SLASH_OR_QUOTE = re.compile("/|'|%27")

CACHED_SEGMENTS = 4_096
"""Cached segments: many paths have the same beginning, and records are read repeatedly."""

LONGEST_CACHED = 200
"""The longest cached segment, in characters; few keys are longer."""

MOST_PARTS = 20
"""Values of a key; the key of an entity type has fewer."""


class KeyPart(msgspec.Struct, frozen=True, gc=False):
    """One value of a key: `code='PCS'` has the name `code`, the text `PCS`, and is quoted."""

    name: str | None
    text: str
    quoted: bool = False

    @property
    def alias(self) -> str | None:
        """The name of the parameter alias, without its `@`; None if the part is a value."""
        return self.text[1:] if self.text.startswith("@") and not self.quoted else None


class Segment(msgspec.Struct, frozen=True):
    """One segment of a path: a name and, in parentheses, the parts of a key.

    `$filter(…)` and `$crossjoin(…)` have an `expression` instead of a key. The call of a function
    without arguments has an empty key. `guid` is a key that is one Guid without its name, in lower
    case.
    """

    name: str
    key: tuple[KeyPart, ...] | None
    expression: str | None = None
    guid: str | None = None


def parse_path(path: str) -> tuple[Segment, ...]:
    """The segments of a percent-encoded path; a slash at the end is ignored.

    A slash in a quoted key is part of the key even if it is not encoded. Raises `Refusal` (400)
    for a malformed path.
    """
    path = path.removeprefix("/")
    if not path:
        return ()
    path = path.removesuffix("/")
    texts = _split(path) if "'" in path or "%27" in path else path.split("/")
    # the record is another one in most requests, and what precedes it the same
    plain = _PLAIN_KEY.fullmatch(texts[-1])
    try:
        if plain is None:
            return tuple(map(_segment, texts))
        return (*map(_segment, texts[:-1]), _with_plain_key(plain))
    except Refusal as refusal:
        for before, text in pairwise(texts):
            if _GUID.fullmatch(text) is not None and "(" not in before:
                raise refusal.grouped("KEY_AS_SEGMENT", set=before[:200]) from None
        raise


def first_segment(path: str) -> tuple[Segment | None, str]:
    """The first segment of a percent-encoded path, None without one, and the path after it.

    Raises `Refusal` (400) as `parse_path` does.
    """
    text = _split(path.removeprefix("/"))[0]
    rest = path.removeprefix("/")[len(text) :]
    if not text:
        return None, rest
    return _segment(text), rest


def company_id_of(segments: Sequence[Segment]) -> str | None:
    """The id of the company with which a path begins; None if it does not begin with a company.

    Raises `Refusal` (400) for a key that is not a Guid.
    """
    if not segments or segments[0].name != COMPANIES or segments[0].key is None:
        return None
    if segments[0].guid is not None:
        return segments[0].guid
    first, *others = segments[0].key
    is_id = first.name in (None, "id") and not first.quoted and not others
    if not is_id or _GUID.fullmatch(first.text) is None:
        raise rows.COMPANY_KEY(COMPANIES)
    return first.text.lower()


def with_joined_slashes(path: str) -> str:
    """The path with each run of slashes outside quotes replaced by one."""
    return "".join(f"/{text}" for text in _split(path) if text)


def _split(path: str) -> list[str]:
    """The path split at the slashes outside quotes; a doubled quote closes and opens."""
    texts: list[str] = []
    start, quoted = 0, False
    for found in _SLASH_OR_QUOTE.finditer(path):
        if found[0] != "/":
            quoted = not quoted
        elif not quoted:
            texts.append(path[start : found.start()])
            start = found.end()
    return [*texts, path[start:]]


def _segment(text: str) -> Segment:
    return _cached(text) if len(text) <= LONGEST_CACHED else _read(text)


def _with_plain_key(match: re.Match[str]) -> Segment:
    name, guid, other = match.groups()
    if guid is None:
        return Segment(name, (KeyPart(None, other),))
    return Segment(name, (KeyPart(None, guid),), None, guid.lower())


def _read(text: str) -> Segment:
    plain = _PLAIN_KEY.fullmatch(text)
    if plain is not None:
        return _with_plain_key(plain)
    decoded = _decoded(text)
    match = _SEGMENT.fullmatch(decoded)
    if match is None:
        raise _row_of_segment(decoded)(segment=decoded)
    name, predicate = match.groups()
    if predicate is None:
        return Segment(name, None)
    if name in _WITHOUT_KEY:
        return Segment(name, None, predicate)
    if not predicate and "." in name:
        return Segment(name, ())
    return Segment(name, _key(decoded, predicate))


_cached = lru_cache(CACHED_SEGMENTS)(_read)


def _decoded(text: str) -> str:
    try:
        # the server passes bytes as Latin-1; bytes that are not percent-encoded are UTF-8 too
        text = unquote_to_bytes(text.encode("latin-1")).decode()
    except UnicodeError:
        raise rows.SEGMENT_NOT_UTF_8(segment=text) from None
    if "\0" in text:
        raise rows.NUL_IN_SEGMENT(segment=text)
    return text


def _row_of_segment(text: str) -> RefusalRow:
    if not text:
        return rows.EMPTY_SEGMENT
    if text in (".", ".."):
        return rows.DOT_SEGMENT
    return rows.OPEN_SEGMENT if text.count("'") % 2 else rows.MALFORMED_SEGMENT


def _key(segment: str, predicate: str) -> tuple[KeyPart, ...]:
    parts: list[KeyPart] = []
    position = 0
    is_last = False
    while not is_last:
        if len(parts) == MOST_PARTS:
            raise rows.LONG_KEY(segment=segment, most=MOST_PARTS)
        match = _KEY_PART.match(predicate, position)
        if match is None:
            row = rows.OPEN_KEY if segment.count("'") % 2 else rows.MALFORMED_KEY
            raise row(segment=segment)
        name, quoted, plain, comma = match.groups()
        if quoted is None:
            parts.append(KeyPart(name, plain))
        else:
            parts.append(KeyPart(name, quoted.replace("''", "'"), quoted=True))
        position = match.end()
        is_last = not comma
    names = [part.name for part in parts]
    if len(parts) > 1 and (None in names or len(set(names)) < len(names)):
        raise rows.UNNAMED_PARTS(segment=segment)
    return tuple(parts)


class Parsed(msgspec.Struct, frozen=True):
    """The segments of a path, the company with which they begin, the options and what is preferred.

    Options or a format that are invalid are their refusal. Errors of the company, the resource and
    the method take precedence over it, and some resources have no format.
    """

    segments: Sequence[Segment]
    company_id: str | None
    options: QueryOptions | Refusal
    form: Format | Refusal
    preferences: Preferences


def parse(
    parser: OptionParser,
    limits: ExpressionLimits,
    format_of: Callable[[Headers, str | None], Format],
    path: str,
    query: str,
    headers: Headers,
) -> Parsed:
    """Check a path, a query and a format; aliases in keys are replaced by their values.

    Raises `Refusal` for an invalid path, and for invalid options that it refers to.
    """
    segments: Sequence[Segment] = parse_path(path)
    options: QueryOptions | Refusal = NO_OPTIONS
    if query:
        try:
            options = parser.parse(query)
        except Refusal as refusal:
            options = refusal
    if "@" in path or "%40" in path:
        if isinstance(options, Refusal):
            raise options
        aliases = parse_aliases(options.aliases, limits)
        segments = [
            msgspec.structs.replace(each, key=each.key and resolve_key(each.key, aliases))
            for each in segments
        ]
    form: Format | Refusal = DEFAULT
    if isinstance(options, QueryOptions):
        try:
            form = format_of(headers, options.format)
        except Refusal as refusal:
            form = refusal
    return Parsed(segments, company_id_of(segments), options, form, preferences(headers))


def resolve_key(parts: Sequence[KeyPart], aliases: Aliases) -> tuple[KeyPart, ...]:
    """The parts of a key, with literals in place of aliases.

    Raises `Refusal` (400) for an alias that is not given or is not a literal.
    """
    return tuple([_key_part(part, aliases) for part in parts])


def _key_part(part: KeyPart, aliases: Aliases) -> KeyPart:
    if part.alias is None:
        return part
    node = resolve(Parameter(part.alias), aliases)
    if not isinstance(node, Literal) or node.type == "null":
        lacking = "a literal" if part.alias in aliases else "given"
        alias = shown_alias(part.alias)
        raise rows.ALIAS_IN_KEY(alias, alias=alias, lacking=lacking)
    return KeyPart(part.name, node.text, quoted=node.type == "string")
