"""The session of a request, found by its cookie."""

import asyncio
from contextlib import suppress

from msgspec.structs import replace

from comptoir.auth.logins import NOTED_SECONDS, Session
from comptoir.errors.refusal import Refusal
from comptoir.features.console.backend import QUICK_SECONDS, Backend
from comptoir.features.console.problem import unanswered


async def found_session(backend: Backend, secret: str) -> Session | None:
    """The session with a secret, whose use is noted; None if there is none, or if it has ended.

    Raises `Problem` (503) without a database, which alone knows which sessions have ended.
    """
    logins, now = backend.logins, backend.now
    try:
        async with asyncio.timeout(QUICK_SECONDS):
            session = await logins.session(secret)
    except (Refusal, TimeoutError) as error:
        raise unanswered() from error
    if session is None or backend.terms.are_over(session, now):
        return None
    if now - session.seen_at < NOTED_SECONDS:
        return session
    session = replace(session, seen_at=now)
    # the next request notes it if the database is busy
    with suppress(Refusal):
        await logins.note_seen(session, now)
    return session
