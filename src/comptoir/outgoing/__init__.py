"""Requests of the service to other servers, guarded against addresses inside its network.

`session` and `guard` import aiohttp, which a service without outside issuers and without
subscriptions does not need.
"""

from comptoir.outgoing.documents import Document, Fetch, OutgoingError, Post, PostAnswer, PostForm

__all__ = ["Document", "Fetch", "OutgoingError", "Post", "PostAnswer", "PostForm"]
