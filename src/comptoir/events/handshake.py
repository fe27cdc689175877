"""The handshake: a receiver shows that it wants the notifications of a subscription."""

import logging
from http import HTTPStatus
from uuid import uuid4

from comptoir.errors import BAD_REQUEST, Refusal
from comptoir.messages import quoted
from comptoir.outgoing import OutgoingError, Post

_log = logging.getLogger(__name__)


async def shake_hands(url: str, post: Post, seconds: float) -> None:
    """Raise `Refusal` (400) unless a URL responds with the token that it is sent."""
    if "#" in url:
        raise Refusal(
            BAD_REQUEST,
            f"The notification URL has the fragment {quoted(url[url.index('#') :])}",
            "Remove it, since no server gets it.",
            target="notificationUrl",
        )
    token = str(uuid4())
    separator = "&" if "?" in url else "?"
    try:
        answer = await post(f"{url}{separator}validationToken={token}", b"", seconds)
    except OutgoingError as error:
        _log.warning("a handshake failed: %s", error)
        raise _failed(error.public, seconds) from None
    if answer.status != HTTPStatus.OK:
        raise _failed(f"it responded with status {answer.status}", seconds)
    if answer.body.strip() != token.encode():
        raise _failed("it responded with another body", seconds)


def _failed(reason: str, seconds: float) -> Refusal:
    return Refusal(
        BAD_REQUEST,
        f"The notification URL did not return the validation token: {reason}",
        f"Let it respond within {seconds:g} seconds with status 200, and the value of its query "
        "parameter validationToken as the body.",
        target="notificationUrl",
    )
