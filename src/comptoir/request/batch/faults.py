"""What a batch is refused for as a whole: before any of its requests is done."""

from comptoir.errors import BAD_REQUEST, BODY_TOO_LARGE, HEADERS_TOO_LARGE, NOT_IMPLEMENTED, Refusal


def malformed(place: str, message: str) -> Refusal:
    """400: a part that is no request; `place` says which part."""
    return Refusal(BAD_REQUEST, f"{place}: {message} Nothing of the batch was done.", target=place)


def unsupported(place: str, construct: str) -> Refusal:
    """501: valid OData that is not supported, by its name."""
    return Refusal(
        NOT_IMPLEMENTED,
        f"{place}: {construct} is not supported. Send the batch without it; nothing of it was "
        "done.",
        target=place,
    )


def too_many(limit: int) -> Refusal:
    """413: more requests than a batch may hold."""
    return Refusal(
        BODY_TOO_LARGE,
        f"The batch holds more than {limit} requests. Send several batches; nothing of this one "
        "was done.",
    )


def head_too_large(place: str, limit: int, fields: int) -> Refusal:
    """431: a part with more headers, or a longer URL, than the service reads."""
    return Refusal(
        HEADERS_TOO_LARGE,
        f"{place}: its URL or its headers are longer than {limit} bytes, or the headers more than "
        f"{fields}. Send fewer or shorter ones; nothing of the batch was done.",
        target=place,
    )
