"""Errors as bodies (OData JSON Format 4.01, section 21): one shape on every failure."""

import msgspec

from comptoir.errors import Refusal
from comptoir.response.answer import Answer

_SHOWN = 1_000


def error_answer(refusal: Refusal) -> Answer:
    """The answer that tells a client why its request was refused."""
    error: dict[str, str | list[dict[str, str]]] = {
        "code": refusal.error.code,
        "message": refusal.message[:_SHOWN],
    }
    if refusal.target is not None:
        error["target"] = refusal.target
    if refusal.details:
        error["details"] = [
            {"code": each.code, "message": each.message[:_SHOWN], "target": each.target}
            for each in refusal.details
        ]
    headers = [(b"content-type", b"application/json"), (b"odata-version", b"4.0")]
    for name, value in refusal.headers.items():
        headers.append((name.lower().encode("latin-1"), value.encode("latin-1", "replace")))
    return Answer(refusal.error.status, headers, msgspec.json.encode({"error": error}))
