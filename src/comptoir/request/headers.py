"""Request headers (RFC 9110, RFC 7240, OData Protocol 4.01, section 8.2)."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Literal, TypeVar

import msgspec

from comptoir.errors import refusal_rows as rows
from comptoir.errors.refusal import Refusal

Headers = Mapping[bytes, bytes]
"""Lower-case names to values; repeated headers are joined by commas."""

BLANKS = " \t"
"""Optional whitespace around the parts of a header (RFC 9110, 5.6.3)."""

CACHED_VALUES = 256
"""Values of one header whose meaning is cached."""

LONGEST_CACHED = 500
"""The longest cached value, in bytes; clients send shorter ones."""

MOST_PARTS = 500
"""Elements and parameters of a header that are read."""

JSON = "application/json"
LEVELS = ("minimal", "none", "full")

INTENT, TOKEN = "Data-Access-Intent", "Consistency-Token"

_INTENT, _TOKEN = INTENT.lower().encode(), TOKEN.lower().encode()

ACCESS = (_INTENT, _TOKEN)
"""The headers of `Access`, as `Headers` has them."""

MINIMAL = "minimal"
REPRESENTATION = "representation"

ISOLATION = (b"isolation", b"odata-isolation")
"""The names of the header by which the requests of a batch are one transaction."""

_QUALITY = re.compile(r"\d{1,4}(?:\.\d{0,20})?|\.\d{1,20}", re.ASCII)
_QUOTED = r'"[^"\\]*(?:\\.[^"\\]*)*"'
_PART = re.compile(rf'([^",;]*(?:{_QUOTED}[^",;]*)*)([,;]|\Z)', re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_ENTITY_TAG = re.compile(rb'\s*(?:W/)?"([\x21\x23-\x7e\x80-\xff]*)"\s*')
_ENTITY_TAGS = re.compile(rb"%b(?:,%b)*" % (_ENTITY_TAG.pattern, _ENTITY_TAG.pattern))
_VERSION = re.compile(rb"(\d{1,3})\.(\d{1,3})")
_SUPPORTED_VERSIONS = ((4, 0), (4, 1))
_VERSIONS = {b"odata-version": "OData-Version", b"odata-maxversion": "OData-MaxVersion"}
_OLD_VERSIONS = {
    b"maxdataserviceversion": "MaxDataServiceVersion",
    b"dataserviceversion": "DataServiceVersion",
}
_OF_VERSIONS = frozenset({*_VERSIONS, *_OLD_VERSIONS})
_OF_ISOLATION = frozenset(ISOLATION)
PROTOCOL_HEADERS = _OF_VERSIONS | _OF_ISOLATION | frozenset(ACCESS)
"""The headers that `check_versions`, `check_isolation` and `access` read."""

_TOKEN_FORM = re.compile(rb"\s*([0-9a-f]{1,32})\.([0-9]{1,18})\s*")
_SHORT_FORMATS: Mapping[str, str] = {
    "json": JSON,
    "xml": "application/xml",
    "atom": "application/atom+xml",
}
_JSON_PARAMETERS: Mapping[str, str] = {
    "charset": "charset",
    "odata.metadata": "metadata",
    "metadata": "metadata",
    "odata.streaming": "streaming",
    "streaming": "streaming",
    "ieee754compatible": "ieee754",
    "exponentialdecimals": "exponential",
}
"""Parameters of `application/json`; OData 4.01 omits `odata.`."""

_JSON_VALUES = {"metadata": LEVELS, "charset": ("utf-8", "utf8")}
"""Values of these parameters; the others are true or false."""

_WRITTEN = {
    "streaming": ";odata.streaming=true",
    "ieee754": ";IEEE754Compatible=true",
    "charset": ";charset=utf-8",
}
"""Parameters in the `Content-Type` of a response."""

_ODATA = "odata."
_COUNTED_DIGITS = 9

T = TypeVar("T")


def combined(pairs: Sequence[tuple[bytes, bytes]]) -> Headers:
    """The headers of a request; repeated ones are joined (RFC 9110, 5.2)."""
    headers = dict(pairs)
    if len(headers) == len(pairs):
        return headers
    headers.clear()
    for name, value in pairs:
        headers[name] = value if name not in headers else headers[name] + b", " + value
    return headers


def lowered(word: str) -> str:
    """A word in lower case if it is ASCII; others are not words of a protocol.

    In Unicode, the Kelvin sign is a `k` in lower case.
    """
    return word.lower() if word.isascii() else word


def cached(read: Callable[[bytes], T]) -> Callable[[bytes], T]:
    """A reader of a header that caches the meaning of short values."""
    remembered = lru_cache(CACHED_VALUES)(read)

    def reading(text: bytes) -> T:
        return remembered(text) if len(text) <= LONGEST_CACHED else read(text)

    return reading


class Element(msgspec.Struct, frozen=True):
    """One element of a list, `name` or `name=value`, with its parameters.

    Names are in lower case. Values are without quotes, and empty if there are none.
    """

    name: str
    value: str
    parameters: tuple[tuple[str, str], ...]


def elements(text: str) -> list[Element]:
    """The elements of a header that is a list (RFC 9110, 5.6), such as `a/b;c=d;q=0.5, "e, f"`.

    Empty elements, text after an open quote, and parts beyond `MOST_PARTS` are ignored.
    """
    found: list[Element] = []
    parts: list[tuple[str, str]] = []
    position = 0
    for _ in range(MOST_PARTS):
        match = _PART.match(text, position)
        if match is None:
            break
        parts.append(_pair(match[1]))
        if match[2] != ";":
            (name, value), *parameters = parts
            if name:
                found.append(Element(name, value, tuple(each for each in parameters if each[0])))
            parts = []
        if not match[2]:
            break
        position = match.end()
    return found


def quality(element: Element) -> float:
    """The quality of an element, from 0 to 1 (RFC 9110, 12.4.2); 1 by default."""
    for name, value in element.parameters:
        if name == "q" and _QUALITY.fullmatch(value):
            return min(float(value), 1.0)
    return 1.0


def _pair(part: str) -> tuple[str, str]:
    name, _, value = part.partition("=")
    value = value.strip(BLANKS)
    if len(value) > 1 and value[0] == value[-1] == '"':
        value = _ESCAPED.sub(r"\1", value[1:-1])
    return lowered(name.strip(BLANKS)), value


class EntityTags(msgspec.Struct, frozen=True):
    """The tags of `If-Match` or `If-None-Match`, without quotes; `any` is the form `*`."""

    any: bool
    opaque: frozenset[str]

    def contain(self, opaque: str) -> bool:
        """Whether a record's tag is among these, by weak comparison (RFC 9110, 8.8.3.2)."""
        return self.any or opaque in self.opaque


ANY_TAG = EntityTags(any=True, opaque=frozenset())
"""The tags of `*`, which every record has."""


def entity_tags(headers: Headers, name: bytes) -> EntityTags | None:
    """The tags of `If-Match` or `If-None-Match`; None if the header is not sent.

    Raises `Refusal` (400) for a malformed header.
    """
    value = headers.get(name)
    if value is None:
        return None
    if value.strip() == b"*":
        return ANY_TAG
    if _ENTITY_TAGS.fullmatch(value) is None:
        header = name.decode().title()
        row = rows.MALFORMED_TAG if name == b"if-match" else rows.NOT_TAGS
        raise row(header, value=value.decode("latin-1"), header=header)
    tags = [tag.decode("latin-1") for tag in _ENTITY_TAG.findall(value)]
    return EntityTags(any=False, opaque=frozenset(tags))


def entity_tag(text: str) -> EntityTags | None:
    """The tag in a text such as the value of `@odata.etag`; None if it is malformed."""
    match = _ENTITY_TAG.fullmatch(text.encode())
    if match is None:
        return None
    return EntityTags(any=False, opaque=frozenset({match[1].decode("latin-1")}))


def check_versions(headers: Headers) -> None:
    """Raise `Refusal` (400) for a version of OData that the service does not support.

    `OData-Version` is 4.0 or 4.01, `OData-MaxVersion` 4.0 or later (OData Protocol 4.01, 8.1.5 and
    8.2.7). Clients of OData 2.0 and 3.0 send their version in other headers.
    """
    if _OF_VERSIONS.isdisjoint(headers):
        return
    sent = _VERSIONS if names_protocol(headers) else _OLD_VERSIONS
    for name, header in sent.items():
        value = headers.get(name, b"4.0")
        if value != b"4.0":
            version = _version(value) or (0, 0)
            is_exact = name == b"odata-version"
            if not (version in _SUPPORTED_VERSIONS if is_exact else version >= (4, 0)):
                text = value.decode("latin-1")
                raise rows.OTHER_VERSION(header, value=text, header=header)


def asks_for_snapshot(headers: Headers) -> bool:
    """Whether a request asks for a snapshot (OData Protocol 4.01, 8.2.6)."""
    return any(headers.get(name, b"").strip().lower() == b"snapshot" for name in ISOLATION)


def check_isolation(headers: Headers) -> None:
    """Raise `Refusal` (412) for a request that asks for a snapshot (OData Protocol 4.01, 8.2.6)."""
    if _OF_ISOLATION.isdisjoint(headers):
        return
    for name in ISOLATION:
        if name in headers:
            header, value = name.decode().title(), headers[name].decode("latin-1")
            raise rows.SNAPSHOT(header, header=header, value=value)


def speaks_401(headers: Headers) -> bool | None:
    """Whether `OData-MaxVersion` allows responses of 4.01; None if it is not sent.

    Without it, the service chooses the version (OData Protocol 4.01, 8.2.7).
    """
    highest = headers.get(b"odata-maxversion")
    if highest is None:
        return None
    version = _version(highest)
    return version is not None and version >= _SUPPORTED_VERSIONS[1]


def _version(text: bytes) -> tuple[int, int] | None:
    # the client's name may follow, as in 4.0;NetFx
    match = _VERSION.fullmatch(text.partition(b";")[0].strip())
    return None if match is None else (int(match[1]), int(match[2]))


def names_protocol(headers: Headers) -> bool:
    """Whether an OData client sent the request: it names the protocol's version."""
    return b"odata-version" in headers or b"odata-maxversion" in headers


class Format(msgspec.Struct, frozen=True, cache_hash=True):
    """The form of JSON in a response.

    `level` is the metadata level: minimal, none or full. `ieee754` writes Edm.Decimal and Edm.Int64
    as texts. `media_type` is the `Content-Type` of the response.
    """

    level: str = LEVELS[0]
    ieee754: bool = False
    media_type: bytes = b"application/json;odata.metadata=minimal"

    def int64(self, number: int) -> int | str:
        """A number as an Edm.Int64 in wire form."""
        return str(number) if self.ieee754 else number


DEFAULT = Format()


def response_format(headers: Headers, option: str | None = None) -> Format:
    """The format that `$format` (`option`, decoded) or else `Accept` asks for.

    Of several formats, the first with the highest quality (OData Protocol 4.01, 8.2.1 to 8.2.3 and
    11.2.12; RFC 9110, 12.5.1). Raises `Refusal` (406) if the service has none of them.
    """
    if b"accept-charset" in headers:
        _check_charset(headers[b"accept-charset"])
    if option is not None:
        ranges = elements(_media_type_of(option))
        found = _format(ranges[0]) if len(ranges) == 1 and ranges[0].name == JSON else None
        if found is None:
            raise _not_acceptable("$format", option)
        return found
    accept = headers.get(b"accept")
    return DEFAULT if accept is None else _accepted(accept)


def spaced_format(headers: Headers, option: str | None = None) -> Format:
    """As `response_format`, with a space before each parameter of the media type."""
    return _spaced(response_format(headers, option))


@lru_cache
def _spaced(form: Format) -> Format:
    return msgspec.structs.replace(form, media_type=form.media_type.replace(b";", b"; "))


def preferred_media_type(
    headers: Headers, offered: Sequence[str], option: str | None = None
) -> str:
    """The client's preferred media type of those that a resource has.

    Of equally preferred types, the first in `offered`; `option` is `$format`, decoded. Raises
    `Refusal` (406) if the client accepts none of them.
    """
    if option is None:
        ranges = elements(headers.get(b"accept", b"").decode("latin-1"))
    else:
        ranges = elements(_media_type_of(option))
    if not ranges and option is None:
        return offered[0]
    best = max(offered, key=lambda each: _quality_of(each, ranges))
    if not _quality_of(best, ranges):
        target = "Accept" if option is None else "$format"
        formats = " or ".join(offered)
        raise rows.NO_FORMAT(target, place=target, formats=formats)
    return best


def prefers_html(headers: Headers) -> bool:
    """Whether `Accept` prefers HTML to JSON, as browsers do."""
    ranges = elements(headers.get(b"accept", b"").decode("latin-1"))
    return _quality_of("text/html", ranges) > _quality_of(JSON, ranges)


def _quality_of(offered: str, ranges: Sequence[Element]) -> float:
    """The quality that the most specific range gives to a media type."""
    for name in (offered, f"{offered.partition('/')[0]}/*", "*/*"):
        qualities = [quality(each) for each in ranges if each.name == name]
        if qualities:
            return max(qualities)
    return 0.0


@cached
def _accepted(accept: bytes) -> Format:
    ranges = elements(accept.decode("latin-1"))
    if not ranges:
        return DEFAULT
    qualities: dict[Format, float] = {}
    for each in ranges:
        found = _format(each) if each.name == JSON else None
        if found is not None:
            qualities.setdefault(found, quality(each))
    wild = [each for each in ranges if each.name in ("*/*", "application/*")]
    if wild:
        qualities.setdefault(DEFAULT, _quality_of(JSON, wild))
    best = max(qualities, key=qualities.__getitem__, default=None)
    if best is None or not qualities[best]:
        raise _not_acceptable("Accept", accept.decode("latin-1"))
    return best


def _media_type_of(option: str) -> str:
    return _SHORT_FORMATS.get(option.strip().lower(), option)


def _format(element: Element) -> Format | None:
    """The format of a range of JSON; None if a parameter is unknown."""
    found, unknown = json_parameters(element)
    if unknown:
        return None
    level, ieee754 = found.get("metadata", LEVELS[0]), "ieee754" in found
    written = [text for name, text in _WRITTEN.items() if name in found]
    media_type = "".join([f"{JSON};odata.metadata={level}", *written])
    return Format(level, ieee754, media_type.encode())


def _not_acceptable(target: str, sent: str) -> Refusal:
    return rows.FORMAT(target, value=sent, place=target)


@cached
def _check_charset(accepted: bytes) -> None:
    found = {each.name: quality(each) for each in elements(accepted.decode("latin-1"))}
    if found and not found.get("utf-8", found.get("*", 0.0)):
        raise rows.CHARSET("Accept-Charset")


def asks_for_json(headers: Headers) -> bool:
    """Whether `Accept` names JSON; a range such as `*/*` does not."""
    ranges = elements(headers.get(b"accept", b"").decode("latin-1"))
    return any(each.name == JSON and quality(each) > 0 for each in ranges)


@cached
def preferred_language(accepted: bytes) -> str:
    """The language, without its region, that `Accept-Language` names first or prefers."""
    found = elements(accepted.decode("latin-1"))
    best = max(found, key=quality, default=None)
    return "" if best is None else best.name.partition("-")[0]


def json_parameters(element: Element, *, lenient: bool = False) -> tuple[Mapping[str, str], str]:
    """The parameters of `application/json` (OData JSON Format 4.01, section 3), without `false`.

    Those after the quality are ignored. The second result is the first one that is unknown or has
    an unknown value, else empty; `lenient` ignores unknown names.
    """
    found: dict[str, str] = {}
    for name, value in element.parameters:
        known, text = _JSON_PARAMETERS.get(name), value.lower()
        if known is None and lenient:
            continue
        if name == "q":
            break
        if known is None or text not in _JSON_VALUES.get(known, ("true", "false")):
            return {}, f"{name}={value}"
        found[known] = text
    return {name: text for name, text in found.items() if text != "false"}, ""


Intent = Literal["readonly", "readwrite"]

_INTENTS: Mapping[bytes, Intent] = {b"readonly": "readonly", b"readwrite": "readwrite"}


class Seen(msgspec.Struct, frozen=True):
    """The state of a company after the change with a number, which a token names."""

    incarnation: str
    number: int


class Access(msgspec.Struct, frozen=True):
    """The freshness of reads: whether a replica may serve them, and what they must show.

    `Data-Access-Intent` is Business Central's. `Consistency-Token` is this service's own: every
    response to a write has one, and a read that sends it back sees that write.
    """

    intent: Intent | None
    seen: Seen | None

    @property
    def may_lag(self) -> bool:
        """Whether a replica that has the required changes may serve a read."""
        if self.intent is None:
            return self.seen is not None
        return self.intent == "readonly"

    def is_of(self, incarnation: str) -> bool:
        """Whether the token, if there is one, is of this incarnation of a company."""
        return self.seen is None or self.seen.incarnation == incarnation


def access(headers: Headers) -> Access | None:
    """The access that the headers ask for; None if neither is sent.

    Raises `Refusal` (400) for a malformed header.
    """
    intent, token = headers.get(_INTENT), headers.get(_TOKEN)
    if intent is None and token is None:
        return None
    seen: Seen | None = None
    if intent is not None and intent.strip().lower() not in _INTENTS:
        raise rows.INVALID_INTENT(INTENT, value=intent.decode("latin-1"))
    if token is not None:
        match = _TOKEN_FORM.fullmatch(token)
        if match is None:
            raise rows.INVALID_TOKEN(TOKEN, value=token.decode("latin-1"))
        seen = Seen(match[1].decode(), int(match[2]))
    return Access(None if intent is None else _INTENTS[intent.strip().lower()], seen)


class Preferences(msgspec.Struct, frozen=True):
    """The supported preferences of a request (RFC 7240; OData Protocol 4.01, 8.2.8).

    `returns` is `minimal` or `representation`; `no_content` is the preference
    `return-no-content` of OData 3.0; `max_page_size` is in records, at least 1; `prefixed` has the
    names that were sent in the form of OData 4.0, with `odata.`.
    """

    returns: str | None = None
    no_content: bool = False
    max_page_size: int | None = None
    track_changes: bool = False
    continue_on_error: bool | None = None
    prefixed: frozenset[str] = frozenset()

    def applied(
        self,
        *,
        page_size: int | None = None,
        returns: bool = False,
        track_changes: bool = False,
        continue_on_error: bool = False,
    ) -> bytes:
        """The value of `Preference-Applied`, empty if nothing was applied.

        `page_size` is the applied limit of a page; the others are whether the preference was
        applied. A preference that was not sent is omitted.
        """
        names: list[str] = []
        if returns and self.returns is not None:
            names.append(f"return={self.returns}")
        if page_size is not None and self.max_page_size is not None:
            names.append(f"{self._as_sent('maxpagesize')}={page_size}")
        if track_changes and self.track_changes:
            names.append(self._as_sent("track-changes"))
        if continue_on_error and self.continue_on_error is not None:
            value = "" if self.continue_on_error else "=false"
            names.append(self._as_sent("continue-on-error") + value)
        return ", ".join(names).encode()

    def _as_sent(self, name: str) -> str:
        return _ODATA + name if name in self.prefixed else name


NO_PREFERENCES = Preferences()
_FLAGS = {"": True, "true": True, "false": False}


def preferences(headers: Headers) -> Preferences:
    """The preferences of the header `Prefer`; none if it is not sent."""
    prefer = headers.get(b"prefer")
    return NO_PREFERENCES if prefer is None else parse_preferences(prefer)


@cached
def parse_preferences(prefer: bytes) -> Preferences:
    """The preferences of a `Prefer` header; the first of two equal ones counts (RFC 7240, 2).

    The name of OData 4.01 takes precedence over the one with `odata.` (Protocol 4.01, 8.2.8).
    """
    given: dict[str, str] = {}
    for element in elements(prefer.decode("latin-1")):
        given.setdefault(element.name, element.value)
    prefixed = frozenset(
        name.removeprefix(_ODATA)
        for name in given
        if name.startswith(_ODATA) and name.removeprefix(_ODATA) not in given
    )
    named = given | {name: given[_ODATA + name] for name in prefixed}
    return Preferences(
        returns=_one_of(named, "return", MINIMAL, REPRESENTATION),
        no_content="return-no-content" in named,
        max_page_size=_whole(named.get("maxpagesize", "")) or None,
        track_changes="track-changes" in named,
        continue_on_error=_FLAGS.get(named.get("continue-on-error", "absent").lower()),
        prefixed=prefixed,
    )


def _one_of(named: Mapping[str, str], name: str, *values: str) -> str | None:
    value = named.get(name, "").lower()
    return value if value in values else None


def _whole(text: str) -> int | None:
    if not (text.isascii() and text.isdigit()):
        return None
    return int(text) if len(text) <= _COUNTED_DIGITS else 10**_COUNTED_DIGITS
