"""Fetches small documents from other servers."""

from aiohttp import ClientResponse

from comptoir.messages import quoted
from comptoir.outgoing.documents import Document, OutgoingError
from comptoir.outgoing.guard import Guard
from comptoir.outgoing.session import PLAIN, Outgoing, start_of_body

_OK = 200


class Fetcher:
    """Sends `GET` requests; a body may have `most_bytes`."""

    def __init__(self, guard: Guard, seconds: float = 10.0, most_bytes: int = 256 << 10) -> None:
        self._outgoing = Outgoing(guard)
        self._seconds = seconds
        self._most_bytes = most_bytes

    async def fetch(self, text: str) -> Document:
        """The document at a URL; raises `OutgoingError`."""
        headers = {"Accept": "application/json"}
        async with self._outgoing.response("GET", text, self._seconds, headers) as response:
            return await self._read(response, text)

    async def _read(self, response: ClientResponse, url: str) -> Document:
        if response.status != _OK:
            raise OutgoingError(f"{quoted(url)} responded with status {response.status}")
        if response.headers.get("Content-Encoding", PLAIN) != PLAIN:
            raise OutgoingError(f"{quoted(url)} responded with a compressed body")
        content = await start_of_body(response, self._most_bytes)
        if len(content) > self._most_bytes:
            raise OutgoingError(f"{quoted(url)} responded with more than {self._most_bytes} bytes")
        return Document(content, response.headers.get("Cache-Control", ""))
