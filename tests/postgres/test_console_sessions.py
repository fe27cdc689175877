"""Sessions of the console that end while they are read."""

import asyncio
import time

import asyncpg
import pytest

from comptoir.app import open_store
from comptoir.auth.audit import Actor
from comptoir.auth.logins import ConsoleRole, Login, NewSession, SessionTerms, new_secret
from comptoir.catalog import MODEL
from comptoir.config import Settings
from comptoir.console import sessions
from comptoir.console.problem import Problem
from comptoir.store.migration import migrate
from support.waiting import PATIENCE_SECONDS

LOCK = 15
READS_WAIT = f"""
ALTER TABLE console_sessions RENAME TO stored_sessions;
CREATE FUNCTION passes() RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  IF current_query() LIKE 'SELECT%' THEN
    PERFORM pg_advisory_xact_lock_shared({LOCK});
  END IF;
  RETURN true;
END $$;
CREATE VIEW console_sessions AS SELECT * FROM stored_sessions WHERE passes();
SELECT pg_advisory_lock({LOCK});
"""
WAITING = f"""
SELECT count(*) FROM pg_locks JOIN pg_database ON pg_database.oid = database
WHERE datname = current_database() AND locktype = 'advisory' AND objid = {LOCK} AND NOT granted
"""


def test_a_session_that_ends_while_it_is_read_is_not_remembered(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The read has seen it, so this request passes, and no later one without the database."""
    monkeypatch.setattr(sessions, "QUICK_SECONDS", PATIENCE_SECONDS)
    settings, terms = Settings(database=postgres_url), SessionTerms(3600, 3600)
    migrate(settings, MODEL)
    code, secret, operator = new_secret(), new_secret(), Actor("cli:test")
    login = Login("anna", ConsoleRole.VIEWER, None)

    async def run() -> None:
        database, store = await asyncpg.connect(postgres_url), open_store(settings)
        logins, now = store.control.logins, int(time.time())
        known = sessions.Sessions(store.control, terms)
        try:
            await logins.add_code(code, login, now, operator)
            await logins.begin(code, NewSession(secret, "", terms, now, operator))
            await database.execute(READS_WAIT)
            finding = asyncio.create_task(known.find(secret))
            while not await database.fetchval(WAITING):
                assert not finding.done()
            await known.end_all(login.subject, operator)
            await database.execute(f"SELECT pg_advisory_unlock({LOCK})")
            assert await finding is not None
            await database.execute("DROP VIEW console_sessions")
            with pytest.raises(Problem, match="which sessions have ended"):
                await known.find(secret)
        finally:
            await database.close()
            await store.close()

    asyncio.run(run())
