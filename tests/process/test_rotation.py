"""A new signing key while a service with several workers runs."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from threading import Event

from joserfc import jws

from comptoir.auth.keys import load_keys
from process.conftest import StartServer
from support.clients import add_client
from support.databases import ON_SQLITE
from support.tokens import Tokens
from support.waiting import until

CLIENTS = 3
"""Threads that send requests all the time."""


def kid_of(token: str) -> str:
    return str(jws.extract_compact(token.encode()).headers()["kid"])


@ON_SQLITE  # keys are in files
def test_no_request_is_refused_while_the_key_changes(
    start_server: StartServer, tmp_path: Path
) -> None:
    server = start_server(workers=2)
    settings = server.settings
    with ThreadPoolExecutor(CLIENTS) as threads:
        webshop = add_client(server, tmp_path)
        former = webshop.token()
        changed, statuses, kids = Event(), list[int](), list[str]()

        def work() -> None:
            while not changed.is_set():
                token = webshop.token()
                # any of the workers may get a token that another one or the command has signed
                for each in (token, former, Tokens(settings).issue()):
                    client = server.client.using(each)
                    statuses.append(client.get("companies").status_code)
                kids.append(kid_of(token))

        working = [threads.submit(work) for _ in range(CLIENTS)]
        try:
            webshop.command.done("keys", "rotate", "--at", f"{datetime.now(UTC).isoformat()}")
            new = load_keys(Path(settings.keys)).signing.thumbprint()
            until(lambda: {*kids[-50:]} == {new} or None, "both workers sign with the new key")
        finally:
            changed.set()
        for each in working:
            each.result()
        assert set(statuses) == {200}
        published = server.origin.get("oauth2/jwks").json()["keys"]
        assert {key["kid"] for key in published} == {kid_of(former), new}
