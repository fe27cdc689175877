"""The format of an answer: `Accept` (RFC 9110, 12.5.1), `Accept-Charset` and `$format`.

OData Protocol 4.01, sections 8.2.1 to 8.2.3 and 11.2.12; OData JSON Format 4.01, section 3.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import msgspec

from comptoir.errors import NOT_ACCEPTABLE, Refusal
from comptoir.request.fields import Element, elements, kept, quality
from comptoir.request.headers import Headers
from comptoir.request.media import JSON, MINIMAL, json_parameters

_SHORT: Mapping[str, str] = MappingProxyType(
    {"json": JSON, "xml": "application/xml", "atom": "application/atom+xml"}
)
"""What the short values of `$format` stand for."""


class Format(msgspec.Struct, frozen=True, cache_hash=True):
    """The form of JSON that a client asks for.

    `level` is the metadata level: minimal, none or full; `ieee754` writes Edm.Decimal and Edm.Int64
    as texts. `media_type` is the `Content-Type` of the answer, which repeats what was asked for.
    """

    level: str = MINIMAL
    ieee754: bool = False
    media_type: bytes = b"application/json;odata.metadata=minimal"


DEFAULT = Format()


def answer_format(headers: Headers, option: str | None = None) -> Format:
    """The format that `$format` (`option`, decoded) or else `Accept` asks for.

    Of several, the one with the highest quality, and of these the first. Raises `Refusal` (406)
    when the service has none of them.
    """
    if b"accept-charset" in headers:
        _check_charset(headers[b"accept-charset"])
    if option is not None:
        return _optional(option)
    accept = headers.get(b"accept")
    return DEFAULT if accept is None else _accepted(accept)


def media_type(headers: Headers, offered: Sequence[str], option: str | None = None) -> str:
    """Which of the media types that a resource offers the client likes best.

    `offered` is in the resource's own order, which decides among equals; `option` is `$format`,
    decoded. Raises `Refusal` (406) that names what is offered.
    """
    if option is None:
        ranges = elements(headers.get(b"accept", b"").decode("latin-1"))
    else:
        ranges = elements(_long(option))
    if not ranges and option is None:
        return offered[0]
    best = max(offered, key=lambda each: _liking(each, ranges))
    if not _liking(best, ranges):
        raise Refusal(
            NOT_ACCEPTABLE,
            f"The resource answers in {' or '.join(offered)}. Accept that.",
            target="Accept" if option is None else "$format",
        )
    return best


def _liking(offered: str, ranges: Sequence[Element]) -> float:
    """How much a media type is liked: what the most specific of the ranges around it says."""
    for name in (offered, f"{offered.partition('/')[0]}/*", "*/*"):
        qualities = [quality(each) for each in ranges if each.name == name]
        if qualities:
            return max(qualities)
    return 0.0


@kept
def _accepted(accept: bytes) -> Format:
    ranges = elements(accept.decode("latin-1"))
    if not ranges:
        return DEFAULT
    liked: dict[Format, float] = {}
    for each in ranges:
        asked = _format(each) if each.name == JSON else None
        if asked is not None:
            liked.setdefault(asked, quality(each))
    wild = [each for each in ranges if each.name in ("*/*", "application/*")]
    if wild:
        liked.setdefault(DEFAULT, _liking(JSON, wild))
    best = max(liked, key=liked.__getitem__, default=None)
    if best is None or not liked[best]:
        raise _not_acceptable("Accept", f"not in {accept.decode('latin-1')[:80]!r}")
    return best


def _optional(option: str) -> Format:
    asked = elements(_long(option))
    found = _format(asked[0]) if len(asked) == 1 and asked[0].name == JSON else None
    if found is None:
        raise _not_acceptable("$format", f"not in {option[:80]!r}")
    return found


def _long(option: str) -> str:
    return _SHORT.get(option.strip().lower(), option)


def _format(element: Element) -> Format | None:
    """The format that a range of JSON asks for; None when it asks for what nobody knows."""
    asked = json_parameters(element)
    if asked.unknown:
        return None
    written = f"{JSON};odata.metadata={asked.level}"
    if asked.streaming:
        written += ";odata.streaming=true"
    if asked.ieee754:
        written += ";IEEE754Compatible=true"
    if asked.charset:
        written += ";charset=utf-8"
    return Format(asked.level, asked.ieee754, written.encode())


def _not_acceptable(target: str, but: str) -> Refusal:
    return Refusal(
        NOT_ACCEPTABLE,
        "The service answers in application/json, with the parameters odata.metadata (minimal, "
        f"none, full), odata.streaming, IEEE754Compatible and charset=utf-8, {but}. Ask for that.",
        target=target,
    )


@kept
def _check_charset(accepted: bytes) -> None:
    found = {each.name: quality(each) for each in elements(accepted.decode("latin-1"))}
    if found and not found.get("utf-8", found.get("*", 0.0)):
        raise Refusal(
            NOT_ACCEPTABLE,
            "The service answers in UTF-8, which Accept-Charset leaves out. Add utf-8, or send no "
            "Accept-Charset.",
            target="Accept-Charset",
        )
