"""The media type of JSON, and its parameters (OData JSON Format 4.01, section 3)."""

from collections.abc import Mapping
from types import MappingProxyType

import msgspec

from comptoir.errors import UNSUPPORTED_MEDIA_TYPE, Refusal
from comptoir.request.fields import Element, elements, kept
from comptoir.request.headers import Headers

JSON = "application/json"
MINIMAL = "minimal"
LEVELS = (MINIMAL, "none", "full")

_UTF_8 = ("utf-8", "utf8")
_FLAGS = ("true", "false")

_NAMES: Mapping[str, str] = MappingProxyType(
    {
        "odata.metadata": "metadata",
        "odata.streaming": "streaming",
        "ieee754compatible": "ieee754",
        "exponentialdecimals": "exponential",
    }
)
"""Names as 4.0 writes them; 4.01 leaves `odata.` out."""


class Parameters(msgspec.Struct, frozen=True):
    """What the parameters of a JSON media type say; `charset` says that it is named and UTF-8.

    `unknown` is the first parameter that this service does not know, or not with its value.
    """

    level: str = MINIMAL
    streaming: bool = False
    ieee754: bool = False
    charset: bool = False
    unknown: str = ""


def json_parameters(element: Element) -> Parameters:
    """Read the parameters of `application/json` in `Accept`, up to the quality if there is one."""
    held: dict[str, str] = {}
    for name, value in element.parameters:
        known, text = _NAMES.get(name, name), value.lower()
        if known == "q":
            break
        if known == "metadata":
            fits = text in LEVELS
        elif known == "charset":
            fits = text in _UTF_8
        else:
            fits = known in ("streaming", *_NAMES.values()) and text in _FLAGS
        if not fits:
            return Parameters(unknown=f"{name}={value}")
        held[known] = text
    return Parameters(
        level=held.get("metadata", MINIMAL),
        streaming=held.get("streaming") == "true",
        ieee754=held.get("ieee754") == "true",
        charset="charset" in held,
    )


def require_json(headers: Headers) -> bool:
    """Raise `Refusal` (415) unless the body is declared as JSON in UTF-8.

    Gives whether the body is `IEEE754Compatible`: its Decimals may be texts of digits.
    """
    declared = headers.get(b"content-type", b"")
    return False if declared == b"application/json" else _declared(declared)


@kept
def _declared(content_type: bytes) -> bool:
    text = content_type.decode("latin-1")
    media = elements(text)
    if len(media) != 1 or media[0].name != JSON:
        raise _unsupported(
            f"The body must be application/json, but Content-Type is {text[:80]!r}. "
            "Send Content-Type: application/json."
        )
    ieee754 = False
    # no other parameter changes how a body is read
    for name, value in media[0].parameters:
        if name == "charset" and value.lower() not in _UTF_8:
            raise _unsupported(
                f"The body must be UTF-8, but Content-Type says {f'charset={value}'[:80]!r}. "
                "Send UTF-8."
            )
        if _NAMES.get(name) == "ieee754":
            if value.lower() not in _FLAGS:
                raise _unsupported(
                    f"Content-Type says {f'IEEE754Compatible={value}'[:80]!r}. "
                    "Send IEEE754Compatible=true or leave it out."
                )
            ieee754 = value.lower() == "true"
    return ieee754


def _unsupported(message: str) -> Refusal:
    return Refusal(UNSUPPORTED_MEDIA_TYPE, message, target="Content-Type")
