"""Posts notifications to the receivers of others, and forms to their issuers."""

from collections.abc import Mapping
from urllib.parse import urlencode

from comptoir.messages import quoted
from comptoir.outgoing.documents import OutgoingError, Sent
from comptoir.outgoing.guard import Guard
from comptoir.outgoing.session import Outgoing, start_of_body

KEPT_BYTES = 4 << 10
"""The most bytes of an answer's body that are read and kept."""


class Poster:
    """Sends `POST` requests with JSON; whatever the answer's status, it is returned."""

    def __init__(self, guard: Guard) -> None:
        self._outgoing = Outgoing(guard)

    async def post(self, text: str, body: bytes, seconds: float) -> Sent:
        """The answer of a URL to a body, within `seconds`; raises `OutgoingError` without one."""
        headers = {"Content-Type": "application/json"}
        async with self._outgoing.response("POST", text, seconds, headers, body) as response:
            content = await start_of_body(response, KEPT_BYTES)
            return Sent(response.status, content[:KEPT_BYTES])


class FormPoster:
    """Sends `POST` requests with a form; an answer may have `most_bytes`."""

    def __init__(self, guard: Guard, seconds: float = 10.0, most_bytes: int = 64 << 10) -> None:
        self._outgoing = Outgoing(guard)
        self._seconds = seconds
        self._most_bytes = most_bytes

    async def post(self, text: str, fields: Mapping[str, str], authorization: str) -> Sent:
        """The answer of a URL, with any status; raises `OutgoingError` without one.

        A blank `authorization` is not sent.
        """
        headers = {
            "Content-Type": "application/x-www-form-urlencoded",
            "Accept": "application/json",
            **({"Authorization": authorization} if authorization else {}),
        }
        body = urlencode(fields).encode()
        async with self._outgoing.response("POST", text, self._seconds, headers, body) as response:
            content = await start_of_body(response, self._most_bytes)
            if len(content) > self._most_bytes:
                raise OutgoingError(
                    f"{quoted(text)} responded with more than {self._most_bytes} bytes"
                )
            return Sent(response.status, content)
