"""The answer comes late, or in small pieces."""

import asyncio

from typing_extensions import override

from comptoir.features.rehearsal.faults.fault import AffectedRequest, Fault, parameter, word
from comptoir.http.compression import IDENTITY
from comptoir.response.response import Pieces, Response, whole_body

_DRIP_BYTES = 64
_DRIPS = 1_000
"""The most pieces of a response that drips."""


class _Slow(Fault):
    seconds: float = parameter("How much longer the answer takes.", 5, 0.001, 600, is_whole=False)
    kind: str = word("The first byte is late, or the body drips.", "first-byte", "drip")

    @override
    async def act(self, affected: AffectedRequest) -> Response:
        if self.kind == "first-byte":
            await asyncio.sleep(self.seconds)
            return await affected.perform()
        response = await affected.perform()
        # compression would gather the pieces
        affected.exchange.coding = IDENTITY
        response.body = self._dripping(await whole_body(response))
        return response

    async def _dripping(self, body: bytes) -> Pieces:
        size = max(_DRIP_BYTES, -(-len(body) // _DRIPS))
        pieces = [body[at : at + size] for at in range(0, len(body), size)]
        for piece in pieces:
            await asyncio.sleep(self.seconds / len(pieces))
            yield piece
