"""JSON bodies: bytes to an object of properties (OData JSON Format 4.01, section 4.5)."""

from decimal import Decimal, InvalidOperation
from typing import cast

import msgspec

from comptoir.errors import BAD_REQUEST, Refusal
from comptoir.jsonvalue import Json, json_kind

_DECODER = msgspec.json.Decoder(float_hook=Decimal)
_CHANGE_MEANING = ("bind", "removed", "delta", "deltalink")


def parse_object(body: bytes) -> dict[str, Json]:
    """Read a body that must be one JSON object; control information is left out.

    Numbers with a fraction or an exponent come as exact `Decimal`. Raises `Refusal` (400) that
    names the byte at which the JSON breaks, and for control information that would change what
    the operation means.
    """
    value = _decoded(body)
    if not isinstance(value, dict):
        raise Refusal(
            BAD_REQUEST,
            'The body must be a JSON object such as {"displayName": "…"}, '
            f"but {json_kind(value)} was sent.",
        )
    annotations = [name for name in value if "@" in name]
    for name in annotations:
        term = name.rpartition("@")[2].lower().removeprefix("odata.")
        if term in _CHANGE_MEANING:
            raise Refusal(
                BAD_REQUEST,
                f"{name[:80]} is not supported in this body. Send properties alone.",
                target=name[:80],
            )
        del value[name]
    return value


def _decoded(body: bytes) -> Json:
    if not body.strip():
        raise Refusal(BAD_REQUEST, "The body is empty. Send a JSON object.")
    try:
        return cast("Json", _DECODER.decode(body))
    except UnicodeDecodeError as fault:
        raise Refusal(
            BAD_REQUEST, f"The body is not UTF-8 (byte {fault.start}). Send UTF-8."
        ) from None
    except msgspec.DecodeError as fault:
        raise Refusal(BAD_REQUEST, f"The body is not JSON: {fault}.") from None
    except RecursionError:
        raise Refusal(
            BAD_REQUEST, "The body nests arrays or objects too deeply. Send one flat object."
        ) from None
    except (InvalidOperation, ValueError):
        raise Refusal(
            BAD_REQUEST, "The body holds a number with too many digits to be read."
        ) from None
