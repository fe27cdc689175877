"""Clients and their tokens while PostgreSQL is stopped, hangs, or has no connection for reads."""

import asyncio
import select
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pytest

from comptoir.auth.authentication import Authenticator
from comptoir.auth.keys import load_keys
from comptoir.auth.records import Client, ClientState
from comptoir.auth.tokens import Scope, TokenIssuer
from comptoir.auth.verification import PresentedToken, TokenVerifier
from comptoir.config import Settings
from comptoir.errors.refusal import Refusal
from comptoir.errors.table import UNAVAILABLE
from comptoir.store import control
from comptoir.store.control import PERIOD_SECONDS, READ_SECONDS, STALE_SECONDS, ControlWatch
from comptoir.store.jobs import every, running
from comptoir.store.postgres import store as postgres_store
from comptoir.store.postgres.store import WRITING_SHARE
from postgres.conftest import locks_held
from process.test_condition import metric
from support.clients import NO_LIMITS, Webshop, add_client, no_issuers
from support.clocks import SetClock
from support.databases import FreshDatabase, migrated
from support.postgres import Postgres
from support.roles import TESTS
from support.server import Server
from support.sockets import in_full, send
from support.stores import opened
from support.tokens import HOUR
from support.waiting import until

CONNECTIONS = 8
USED = 'comptoir_database_connections{state="used"}'
ERRORS = "comptoir_database_errors_total"
ISSUER, CLIENTS, AUDIENCE = "issuer", "clients", "audience"


def database_errors(server: Server) -> float:
    """The number of errors of the database that the metrics show."""
    lines = server.origin.get("metrics").text.splitlines()
    return sum(float(line.split()[-1]) for line in lines if line.startswith(ERRORS))


def unavailable(webshop: Webshop) -> bool:
    """Whether the token endpoint says that it cannot check clients now."""
    response = webshop.ask()
    return (
        response.status_code == 503
        and response.json()["error"] == "temporarily_unavailable"
        and int(response.headers["Retry-After"]) > 0
    )


def test_a_client_gets_no_token_while_the_database_is_stopped(
    own_server: Postgres, tmp_path: Path
) -> None:
    """The tokens that it has are accepted; what needs no record works. Polls are logged once."""
    with Server.over(lambda *_: migrated(own_server), tmp_path) as server:
        webshop = add_client(server, tmp_path)
        shop = server.client.using(webshop.token())
        assert shop.get("").status_code == 200
        own_server.stop()
        until(lambda: database_errors(server) >= 3 or None, "polls that fail")
        lines = server.log.read_text().splitlines()
        assert len([each for each in lines if "database error" in each]) == 1
        assert len([each for each in lines if "clients cannot be read" in each]) == 1
        assert unavailable(webshop)
        assert unavailable(webshop)
        assert shop.get("").status_code == 200
        own_server.start()
        until(lambda: webshop.ask().status_code == 200 or None, "a token")
        assert shop.get("").status_code == 200
        server.wait_for_log("clients can be read from the database again")


@dataclass
class Watched:
    """A client's token, and what a process knows of the client by a clock that the test sets.

    `revoked` is a token of the command.
    """

    watch: ControlWatch
    authenticator: Authenticator
    token: str
    revoked: str
    clock: SetClock

    async def status(self, token: str = "") -> int:
        """The status of a request with the client's token, or with another one."""
        try:
            await self.authenticator.authenticate(f"Bearer {token or self.token}".encode())
        except Refusal as refusal:
            return refusal.error.status
        return 200

    def is_refused_at_once(self) -> bool:
        """Whether a request for a token is refused before it waits for anything."""
        refresh = self.watch.refresh()
        try:
            refresh.send(None)
        except Refusal as refusal:
            return refusal.error.status == UNAVAILABLE.status
        finally:
            refresh.close()
        return False

    async def eventually(self, look: Callable[[], bool]) -> None:
        await asyncio.to_thread(until, lambda: look() or None, "what a poll finds")


@asynccontextmanager
async def watched(url: str, folder: Path) -> AsyncIterator[Watched]:
    client = Client(
        str(uuid4()), "webshop", frozenset({Scope.ADMIN}), None, None, ClientState.ACTIVE, ()
    )
    keys = load_keys(folder / "keys")
    issuer = TokenIssuer(lambda: keys.signing, ISSUER, AUDIENCE)
    verifier = TokenVerifier(
        keys.trusted.get, ISSUER, AUDIENCE, client_issuers=(CLIENTS,), client_keys=keys.own.get
    )
    revoked = issuer.issue("operator", [Scope.ADMIN], None, HOUR)
    jti = str(verifier.verify(PresentedToken(revoked)).jti)
    async with opened(Settings(database=url)) as store:
        await store.control.add_client(client, TESTS)
        await store.control.revoke(jti, 1 << 40, "operator", TESTS)
        clock = SetClock()
        watch = ControlWatch(store.control, clock)
        async with running([every(PERIOD_SECONDS, watch.poll)]):
            yield Watched(
                watch,
                Authenticator(verifier, watch, NO_LIMITS, no_issuers()),
                issuer.issue(client.id, [Scope.ADMIN], None, HOUR, client_issuer=CLIENTS),
                revoked,
                clock,
            )


def test_a_database_that_hangs_is_not_waited_for_by_each_request(
    own_server: Postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tokens are judged by what is known for a minute, then refused, then accepted again."""
    for module in (control, postgres_store):
        monkeypatch.setattr(module, "READ_SECONDS", READ_SECONDS)

    async def run(url: str) -> None:
        async with watched(url, tmp_path) as shop:
            assert await shop.status() == 200
            with own_server.hung():
                with pytest.raises(Refusal):
                    await shop.watch.refresh()
                assert shop.is_refused_at_once()
                shop.clock.now += STALE_SECONDS
                assert await shop.status() == 200
                shop.clock.now += 1
                await shop.eventually(lambda: shop.watch.known is None)
                assert await shop.status() == UNAVAILABLE.status
                assert await shop.status(shop.revoked) == 401
                assert shop.is_refused_at_once()
            await shop.eventually(lambda: shop.watch.known is not None)
            assert await shop.status() == 200
            assert await shop.watch.refresh() is shop.watch.known

    asyncio.run(run(migrated(own_server)))


def test_a_disabled_client_is_refused_while_reads_use_all_connections(
    fresh_postgres: FreshDatabase, tmp_path: Path
) -> None:
    with (
        Server.over(fresh_postgres, tmp_path, database_connections=CONNECTIONS) as server,
        ExitStack() as stack,
    ):
        webshop, kept = add_client(server, tmp_path), add_client(server, tmp_path)
        token, company = webshop.token(), server.new_company()
        stack.enter_context(locks_held(server.settings.database, 'LOCK TABLE "contactsExt"'))
        reads = []
        for number in range(2 * CONNECTIONS):
            reader = company.using(server.tokens.issue(subject=f"reader-{number}"))
            reads.append(stack.enter_context(server.connect()))
            send(reads[-1], in_full(reader.build("GET", "contactsExt")))
        reading = CONNECTIONS - CONNECTIONS // WRITING_SHARE
        until(lambda: metric(server, USED) >= reading or None, "no free connection for reads")
        webshop.command.done("client", "disable", webshop.name)

        def is_refused() -> bool | None:
            return server.client.using(token).get("").status_code == 401 or None

        until(is_refused, "a refusal")
        assert server.client.using(kept.token()).get("").status_code == 200
        assert select.select(reads, (), (), 0)[0] == []
