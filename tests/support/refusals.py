"""Assertions about error responses."""

import httpx
import msgspec

from comptoir.errors.table import ERROR_TABLE

STATUS_OF = {error.code: error.status for error in ERROR_TABLE}


class Detail(msgspec.Struct, forbid_unknown_fields=True):
    """One of several errors."""

    code: str
    message: str
    target: str


class Error(msgspec.Struct, forbid_unknown_fields=True):
    """The body of an error response."""

    code: str
    message: str
    target: str | None = None
    details: list[Detail] = []


class ErrorBody(msgspec.Struct, forbid_unknown_fields=True):
    """The body of every error."""

    error: Error


def error_in(content: bytes) -> Error:
    """The error in a body that contains nothing else."""
    error = msgspec.json.decode(content, type=ErrorBody).error
    assert error.message
    return error


def refusal(response: httpx.Response, code: str, target: str | None = None) -> Error:
    """The error in a response with this code, in the shape of all errors.

    `target` is compared if it is given.
    """
    assert response.status_code == STATUS_OF[code], response.text
    assert response.headers["content-type"] == "application/json"
    assert response.headers["x-request-id"]
    error = error_in(response.content)
    assert error.code == code, error
    if target is not None:
        assert error.target == target, error
    return error
