"""The connection is cut."""

from collections.abc import AsyncGenerator

from typing_extensions import override

from comptoir.features.rehearsal.faults.fault import AffectedRequest, Fault, lose, parameter, word
from comptoir.features.rehearsal.traps import Trap
from comptoir.http.compression import IDENTITY
from comptoir.http.exchange import ConnectionCutError
from comptoir.response.response import Response, whole_body


class _Reset(Fault):
    trap = Trap.LOST_ANSWER
    phase: str = word(
        "Before the request is run, after its commit, or within the body.",
        "before",
        "after",
        "body",
    )
    bytes: int | None = parameter(
        "The bytes of the body that still arrive.", 0, 0, 100_000_000, only_with=("phase", "body")
    )

    @override
    async def act(self, affected: AffectedRequest) -> Response:
        if self.phase == "body":
            response = await affected.perform()
            # a compressed body would have another length
            affected.exchange.coding = IDENTITY
            body = await whole_body(response)
            if body and affected.exchange.method != "HEAD":
                response.body = _cut(body[: self.bytes])
                return response
        if self.phase == "after":
            await lose(affected)
        raise ConnectionCutError


async def _cut(body: bytes) -> AsyncGenerator[bytes, None]:
    """A body that ends with the connection."""
    yield body
    raise ConnectionCutError
