"""A client of the control endpoint of a service with faults."""

from collections.abc import Mapping
from datetime import timedelta
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import TypeVar
from urllib.parse import urlsplit

import msgspec

from comptoir.errors.messages import quoted
from comptoir.features.testing import errors as problems

CONTROL_TOKEN_LIVES = timedelta(days=1)
"""Longer than a run of tests."""

_PATIENCE_SECONDS = 60

T = TypeVar("T")


class _Fault(msgspec.Struct):
    message: str


class _Refused(msgspec.Struct):
    error: _Fault


class ControlClient:
    """The control endpoint of the service with an address; only the origin of `url` counts."""

    def __init__(self, url: str, token: str) -> None:
        """Raise `OperatorError` if `url` is not an http or https URL."""
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise problems.INVALID_URL(url=quoted(url))
        self._origin = f"{parts.scheme}://{parts.netloc}"
        self._connecting = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        self._token = token

    def read(
        self, method: str, path: str, form: type[T], body: Mapping[str, object] | None = None
    ) -> T:
        """The JSON that answers a request for a path below `/faults`; raises `OperatorError`."""
        content = self.send(method, path, body)
        try:
            return msgspec.json.decode(content, type=form)
        except msgspec.DecodeError as error:
            raise problems.ANOTHER_RELEASE(origin=self._origin, reason=error) from error

    def send(self, method: str, path: str, body: Mapping[str, object] | None = None) -> bytes:
        """The body of the answer to a request; raises `OperatorError` for an error."""
        content = None if body is None else msgspec.json.encode(body)
        # a connection for each request, since the service closes idle ones
        connection = self._connecting(urlsplit(self._origin).netloc, timeout=_PATIENCE_SECONDS)
        headers = {"Authorization": f"Bearer {self._token}"}
        try:
            connection.request(method, f"/faults/{path}", content, headers)
            response = connection.getresponse()
            answer = response.read()
        except (OSError, HTTPException) as error:
            raise problems.NO_RESPONSE(origin=self._origin, reason=error) from error
        finally:
            connection.close()
        if response.status < 400:
            return answer
        url, status = f"{self._origin}/faults/{path}", response.status
        if status == 404:
            raise problems.WITHOUT_FAULTS(url=url, status=status)
        try:
            found = msgspec.json.decode(answer, type=_Refused).error.message
        except msgspec.DecodeError:
            found = ""
        raise problems.REQUEST_FAILED(suggested=found, url=url, status=status)
