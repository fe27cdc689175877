"""Guesses of a client's credentials are slowed, and nobody is locked out."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

import httpx
from joserfc.jwk import ECKey

from support.assertions import add_signer
from support.clients import GRANT, TOKEN_PATH, Webshop, add_client, ask
from support.server import Server
from support.service import Service
from support.waiting import until

STRANGER = ECKey.generate_key("P-256")


def at(address: str) -> Mapping[str, str]:
    """The headers that a trusted proxy adds to a client's request."""
    return {"X-Forwarded-For": address, "X-Forwarded-Proto": "https"}


def slowed(response: httpx.Response) -> httpx.Response | None:
    """The response if it says to wait, None if it is an ordinary refusal."""
    if response.status_code == 401:
        return None
    assert response.status_code == 429, response.text
    return response


def guess(webshop: Webshop, address: str, path: str = "token") -> httpx.Response:
    form = {**GRANT, **webshop.in_body, "client_secret": "wrong", "token": "x"}
    return ask(webshop.service, form, at(address), path=f"comptoir/oauth2/v2.0/{path}")


def guess_slowed(webshop: Webshop, address: str, path: str = "token") -> httpx.Response | None:
    return slowed(guess(webshop, address, path))


def test_guesses_are_slowed_at_their_address_alone(proxied: Server, tmp_path: Path) -> None:
    webshop = add_client(proxied, tmp_path)
    address, elsewhere = "2001:db8::7", "2001:db8:0:1::7"
    right = {**GRANT, **webshop.in_body}
    statuses = [guess(webshop, address).status_code for _ in range(5)]
    assert statuses == [401] * 5
    response = until(partial(guess_slowed, webshop, address), "a guess that is slowed")
    assert response.json()["error"] == "slow_down"
    assert 0 < int(response.headers["Retry-After"]) <= 60
    assert response.headers["Cache-Control"] == "no-store"
    for path in ("revoke", "introspect"):
        elsewhere_slowed = partial(guess_slowed, webshop, address, path)
        until(elsewhere_slowed, "a guess at another endpoint is slowed")
    assert ask(proxied, right, at(elsewhere)).status_code == 200
    other = add_client(proxied, tmp_path)
    assert ask(proxied, {**GRANT, **other.in_body}, at(address)).status_code == 200


def test_unknown_clients_and_assertions_are_slowed_alike(service: Service, tmp_path: Path) -> None:
    webshop = add_client(service, tmp_path)
    unknown = replace(webshop, id=f"unknown-{webshop.id}")
    signer = add_signer(service, tmp_path, ECKey.generate_key("P-256"))
    found = [
        until(lambda: slowed(webshop.ask(client_secret="wrong")), "a wrong secret is slowed"),
        until(lambda: slowed(unknown.ask()), "an unknown client is slowed"),
        until(lambda: slowed(signer.ask(signer.sign(key=STRANGER))), "an assertion is slowed"),
    ]
    assert len({each.json()["error_description"] for each in found}) == 1


def test_guesses_at_once_are_all_counted(service: Service, tmp_path: Path) -> None:
    """No request is judged before the failures of those before it are counted."""
    webshop = add_client(service, tmp_path)
    wrong = {**GRANT, "client_id": webshop.id, "client_secret": "wrong"}
    request = httpx.Request("POST", f"{service.origin.root}/{TOKEN_PATH}", data=wrong)
    statuses = [each.status_code for each in service.send_all([request] * 20)]
    assert 5 <= statuses.count(401) < 10
    assert set(statuses) == {401, 429}
