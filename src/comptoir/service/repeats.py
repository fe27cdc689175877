"""Which writes are repeatable, and what tells a repeat from another request."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from hashlib import sha256
from uuid import UUID, uuid5

from comptoir.edm.temporal import instant
from comptoir.errors import REPEAT_UNTRACKED
from comptoir.plan.write import Repeat
from comptoir.request.repeatability import FIRST_SENT, rejected, repeatability
from comptoir.service.context import Context

SKEW = timedelta(minutes=5)
"""By how much a client's clock may be fast."""

_MEANT = (b"if-match", b"if-none-match")
"""The headers that say what a write is to do."""


class Repeats:
    """Knows for how long a write is known when it is sent again."""

    def __init__(self, window_seconds: float) -> None:
        self._window = timedelta(seconds=window_seconds)

    def of(self, context: Context, content: bytes) -> Repeat | None:
        """What a write with this body is known by; None for one that is not repeatable.

        Raises `Refusal`: 400 for headers that are wrong, 412 for a request that was first sent
        too long ago to tell, or in the future.
        """
        request = context.request
        sent = repeatability(request.headers)
        if sent is None:
            return None
        now = datetime.now(UTC)
        if not now - self._window <= sent.first_sent <= now + SKEW:
            raise rejected(
                REPEAT_UNTRACKED,
                f"{FIRST_SENT} must lie within the last {self._window.total_seconds():g} seconds; "
                f"now it is {format_datetime(now, usegmt=True)}. Find out whether the request "
                "was done, and send it as a new one if not.",
                FIRST_SENT,
            )
        digest = sha256()
        headers = [request.headers.get(name, b"") for name in _MEANT]
        address = f"{request.method} {request.path}?{request.query}".encode()
        for part in (address, *headers, content):
            digest.update(b"%d:" % len(part) + part)
        return Repeat(
            sent.request_id,
            sent.client_id,
            digest.hexdigest(),
            instant(now),
            instant(now - self._window - SKEW),
        )


def repeatable_key(context: Context, repeat: Repeat) -> str:
    """The key of a record that a repeatable write creates: the same for each repeat.

    So the requests of an atomic group that go to the new record are the same as well.
    """
    name = "\n".join((context.request.principal.subject, repeat.client_id, repeat.request_id))
    return str(uuid5(UUID(context.under().id), name))
