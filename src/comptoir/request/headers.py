"""The headers that operations heed (RFC 9110, RFC 7240, OData Protocol 4.01, section 8.2)."""

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import msgspec

from comptoir.errors import BAD_REQUEST, NOT_ACCEPTABLE, UNSUPPORTED_MEDIA_TYPE, Refusal

Headers = Mapping[bytes, bytes]
"""Lower-case names to values; repeated headers are joined by commas."""

NO_HEADERS: Headers = MappingProxyType({})

_ENTITY_TAG = re.compile(rb'\s*(?:W/)?"([\x21\x23-\x7e\x80-\xff]*)"\s*')
_METADATA_LEVELS = ("minimal", "none", "full")
_COUNTED_DIGITS = 9


def combined(pairs: Sequence[tuple[bytes, bytes]]) -> Headers:
    """Headers as the server hands them over, repeated ones joined (RFC 9110, 5.2)."""
    held = dict(pairs)
    if len(held) == len(pairs):
        return held
    held.clear()
    for name, value in pairs:
        held[name] = value if name not in held else held[name] + b", " + value
    return held


class EntityTags(msgspec.Struct, frozen=True):
    """The tags of `If-Match` or `If-None-Match`, without their quotes; `any` is the form `*`."""

    any: bool
    opaque: frozenset[str]

    def hold(self, opaque: str) -> bool:
        """Whether a record's tag is among them, by weak comparison (RFC 9110, 8.8.3.2)."""
        return self.any or opaque in self.opaque


def entity_tags(headers: Headers, name: bytes) -> EntityTags | None:
    """Read `If-Match` or `If-None-Match`, None when not sent; `Refusal` (400) for nonsense."""
    value = headers.get(name)
    if value is None:
        return None
    if value.strip() == b"*":
        return EntityTags(any=True, opaque=frozenset())
    tags: set[str] = set()
    position = 0
    while True:
        match = _ENTITY_TAG.match(value, position)
        if match is None:
            break
        tags.add(match[1].decode("latin-1"))
        position = match.end()
        if position == len(value):
            return EntityTags(any=False, opaque=frozenset(tags))
        if value[position : position + 1] != b",":
            break
        position += 1
    header = name.decode().title()
    raise Refusal(
        BAD_REQUEST,
        f'{header} must be *, or entity tags such as W/"…" separated by commas. '
        "Send the record's @odata.etag as it was received, quotes included.",
        target=header,
    )


def names_protocol(headers: Headers) -> bool:
    """Whether the request comes from an OData client: it names the protocol's version."""
    return b"odata-version" in headers or b"odata-maxversion" in headers


def max_page_size(headers: Headers) -> int | None:
    """The `odata.maxpagesize` of `Prefer` (4.01 also without the prefix); None when not asked."""
    prefer = headers.get(b"prefer")
    if prefer is None:
        return None
    for preference in prefer.decode("latin-1").split(","):
        name, _, value = preference.partition(";")[0].partition("=")
        if name.strip().lower() in ("odata.maxpagesize", "maxpagesize"):
            digits = value.strip().strip('"')
            # a preference that cannot be honoured is ignored, not refused (RFC 7240, section 2)
            if not (digits.isascii() and digits.isdigit()):
                return None
            return int(digits) if len(digits) <= _COUNTED_DIGITS else 10**_COUNTED_DIGITS
    return None


def metadata_level(headers: Headers) -> str:
    """The metadata level that `Accept` asks for: minimal, none or full; `Refusal` (406) if none.

    Of several acceptable formats the first is taken.
    """
    accept = headers.get(b"accept")
    if accept is None or accept == b"*/*":
        return "minimal"
    for media in accept.decode("latin-1").split(","):
        kind, *parameters = (part.strip().lower() for part in media.split(";"))
        if kind not in ("application/json", "application/*", "*/*"):
            continue
        held = dict(parameter.partition("=")[::2] for parameter in parameters)
        if held.get("q", "1").rstrip("0").rstrip(".") in ("", "0"):
            continue
        level = held.get("odata.metadata", held.get("metadata", "minimal")).strip('"')
        if level in _METADATA_LEVELS:
            return level
    raise Refusal(
        NOT_ACCEPTABLE,
        "The service answers in application/json (odata.metadata minimal, none or full). "
        "Accept that.",
        target="Accept",
    )


def require_json(headers: Headers) -> None:
    """Raise `Refusal` (415) unless the body is declared as JSON in UTF-8."""
    declared = headers.get(b"content-type", b"").decode("latin-1")
    kind, *parameters = (part.strip().lower() for part in declared.split(";"))
    held = dict(parameter.partition("=")[::2] for parameter in parameters)
    if kind != "application/json":
        raise Refusal(
            UNSUPPORTED_MEDIA_TYPE,
            f"The body must be application/json, but Content-Type is {declared[:80]!r}. "
            "Send Content-Type: application/json.",
            target="Content-Type",
        )
    if held.get("charset", "utf-8").strip('"') not in ("utf-8", "utf8"):
        raise Refusal(
            UNSUPPORTED_MEDIA_TYPE,
            f"The body must be UTF-8, but the charset is {held['charset'][:40]!r}. Send UTF-8.",
            target="Content-Type",
        )
