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

_NAMES: Mapping[str, str] = MappingProxyType(
    {
        "charset": "charset",
        "odata.metadata": "metadata",
        "metadata": "metadata",
        "odata.streaming": "streaming",
        "streaming": "streaming",
        "ieee754compatible": "ieee754",
        "exponentialdecimals": "exponential",
    }
)
"""The parameters; 4.01 leaves `odata.` out."""


class Parameters(msgspec.Struct, frozen=True):
    """What the parameters of a JSON media type say; `charset` says that it is named and UTF-8.

    `unknown` is the first parameter that this service does not know, or not with its value.
    """

    level: str = MINIMAL
    streaming: bool = False
    ieee754: bool = False
    charset: bool = False
    unknown: str = ""


def json_parameters(element: Element, *, lenient: bool = False) -> Parameters:
    """Read the parameters of `application/json`.

    Those of `Accept` end at the quality if there is one. `lenient` passes over parameters that
    the service does not know.
    """
    held: dict[str, str] = {}
    for name, value in element.parameters:
        known, text = _NAMES.get(name), value.lower()
        if known is None and lenient:
            continue
        if name == "q":
            break
        if known == "metadata":
            fits = text in LEVELS
        elif known == "charset":
            fits = text in ("utf-8", "utf8")
        else:
            fits = text in ("true", "false")
        if known is None or not fits:
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
    # an unknown parameter does not change how a body is read
    parameters = json_parameters(media[0], lenient=True)
    if parameters.unknown.startswith("charset="):
        raise _unsupported(
            f"The body must be UTF-8, but Content-Type says {parameters.unknown[:80]!r}. "
            "Send UTF-8."
        )
    if parameters.unknown:
        raise _unsupported(
            f"Content-Type says {parameters.unknown[:80]!r}, a value that the service does not "
            "know. Send Content-Type: application/json."
        )
    return parameters.ieee754


def _unsupported(message: str) -> Refusal:
    return Refusal(UNSUPPORTED_MEDIA_TYPE, message, target="Content-Type")
