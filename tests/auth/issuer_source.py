"""The documents of an issuer, without a server."""

import asyncio

import msgspec
from joserfc.jwk import ECKey

from auth.token_forger import ISSUER, new_key
from comptoir.outgoing import Document, OutgoingError

__all__ = ["ISSUER", "Source"]


class Source:
    """The documents of an issuer; `gate` lets it respond."""

    def __init__(self) -> None:
        self.keys: dict[str, ECKey] = {"a": new_key()}
        self.cache_control = ""
        self.is_away = False
        self.fetches = 0
        self.gate = asyncio.Event()
        self.gate.set()

    async def fetch(self, url: str) -> Document:
        if not url.endswith("/keys"):
            self.fetches += 1
            if self.is_away:
                raise OutgoingError("the issuer is away")
            found = {"issuer": ISSUER, "jwks_uri": f"{ISSUER}/keys"}
            return Document(msgspec.json.encode(found), "")
        members = [{**key.as_dict(private=False), "kid": kid} for kid, key in self.keys.items()]
        await self.gate.wait()
        return Document(msgspec.json.encode({"keys": members}), self.cache_control)

    async def settled(self) -> None:
        """Return after a fetch in the background."""
        for _ in range(10):
            await asyncio.sleep(0)
