"""Requests of the service to other servers, guarded against addresses inside its network.

`session` imports aiohttp, which a service that sends no requests does not need.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Document:
    """A response's body, and its `Cache-Control`, empty without one."""

    content: bytes
    cache_control: str


@dataclass(frozen=True, slots=True)
class PostAnswer:
    """The status of an answer, and the start of its body."""

    status: int
    body: bytes


class OutgoingError(Exception):
    """Why a request was not sent, or has no usable response: a sentence without its full stop.

    `public` does not say to which address a name resolves.
    """

    def __init__(self, problem: str, public: str = "") -> None:
        super().__init__(problem)
        self.public = public or problem


Post = Callable[[str, bytes, float], Awaitable[PostAnswer]]
"""Sends a body to a URL and returns the answer within some seconds, or raises `OutgoingError`."""

PostForm = Callable[[str, Mapping[str, str], str], Awaitable[PostAnswer]]
"""Sends a form to a URL with an `Authorization`, blank for none, or raises `OutgoingError`."""

Fetch = Callable[[str], Awaitable[Document]]
"""Returns the document at a URL, or raises `OutgoingError`."""
