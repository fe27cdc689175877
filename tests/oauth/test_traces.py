"""What requests leave in the service: no secret, and nothing that a request could forge.

The log, the audit log, the metrics, the pages and the errors of a service that was sent credentials
in every place, right and wrong ones, and control characters wherever a request has text.
"""

import base64
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from uuid import uuid4

import httpx
import msgspec
import pytest
from joserfc.jwk import ECKey

from comptoir.auth.audit import AuditEntry
from comptoir.auth.keys import load_keys
from support.assertions import PrivateKey, Signer, add_signer, base64url
from support.clients import GRANT, Webshop, add_client, ask
from support.databases import FreshDatabase
from support.server import Server

FORGED = '\r\n{"number":1,"event":"forged","act":"client.add"}\n'
ENCODED = "%0D%0A%7B%22event%22%3A%22forged%22%7D%0A"
PAGES = [
    "healthz",
    "readyz",
    "metrics",
    "docs",
    "docs/openapi.json",
    "docs/start.js",
    "oauth2/jwks",
    "comptoir/v2.0/.well-known/openid-configuration",
    "nowhere",
]


@dataclass(frozen=True)
class Traces:
    """What a service wrote and returned, and the secrets that must not be in it."""

    log: str
    audit: str
    pages: str
    errors: list[httpx.Response]
    hostile: list[httpx.Response]
    secrets: Mapping[str, str]
    webshop: Webshop
    signer: Signer

    @property
    def entries(self) -> list[AuditEntry]:
        return [msgspec.json.decode(line, type=AuditEntry) for line in self.audit.splitlines()]


@pytest.fixture(scope="module")
def traces(fresh_database: FreshDatabase, tmp_path_factory: pytest.TempPathFactory) -> Traces:
    folder = tmp_path_factory.mktemp("traces")
    with Server.over(fresh_database, folder) as server:
        webshop = add_client(server, folder)
        signer = add_signer(server, folder, ECKey.generate_key("P-256"))
        known, errors = with_credentials(server, webshop, signer)
        hostile = with_control_characters(server, webshop)
        pages = "\n".join(server.origin.get(path).text for path in PAGES)
        server.ask_to_stop()
        server.wait()
        log, audit = server.log.read_text(), webshop.command.done("audit").out
        signing = load_keys(folder / "keys").signing
        known |= {"signing key": private_part(signing), "client's key": private_part(signer.key)}
        return Traces(log, audit, pages, errors, hostile, known, webshop, signer)


def with_credentials(
    server: Server, webshop: Webshop, signer: Signer
) -> tuple[dict[str, str], list[httpx.Response]]:
    """Send credentials in every place; the secrets among them, and the errors."""
    wrong = secrets.token_urlsafe(32)
    token, revoked, assertion = webshop.token(), webshop.token(), signer.sign()
    foreign = signer.sign(key=ECKey.generate_key("P-256"))
    basic = base64.b64encode(f"{webshop.id}:{webshop.secret}".encode()).decode()
    in_body, altered = {**GRANT, **webshop.in_body}, f"{token[:-8]}AAAAAAAA"
    assert signer.ask(assertion).status_code == 200
    assert ask(server, GRANT, {"Authorization": f"Basic {basic}"}).status_code == 200
    assert server.client.using(token).get("companies").status_code == 200
    assert webshop.send("introspect", token).json()["active"]
    assert webshop.send("revoke", revoked).status_code == 200
    errors = [
        webshop.ask(client_secret=wrong),
        ask(server, GRANT, {"Authorization": f"Basic {wrong}"}),
        ask(server, GRANT, {"Authorization": f"Bearer {token}"}),
        ask(server, in_body, {"Authorization": f"Basic {basic}"}),
        ask(server, in_body, query=f"client_secret={webshop.secret}"),
        ask(server, msgspec.json.encode(in_body), {"Content-Type": "application/json"}),
        ask(server, b"client_secret=%s&client_secret=%s" % (2 * (webshop.secret.encode(),))),
        ask(server, b"client_secret=" + 2_000 * webshop.secret.encode()),
        signer.ask(assertion),
        signer.ask(foreign),
        webshop.ask(client_id=wrong),
        *[server.client.using(each).get("companies") for each in (revoked, altered, wrong)],
        server.client.using("").get("companies", f"access_token={token}"),
        server.client.using(token).get("companies", f"client_secret={webshop.secret}&$top=x"),
    ]
    known = {"secret": webshop.secret, "wrong secret": wrong, "Basic": basic}
    for name, sent in (
        ("token", token),
        ("revoked token", revoked),
        ("assertion", assertion),
        ("foreign assertion", foreign),
    ):
        _, known[f"{name}'s claims"], known[f"{name}'s signature"] = sent.split(".")
    return known, errors


def with_control_characters(server: Server, webshop: Webshop) -> list[httpx.Response]:
    """Send control characters and quotes wherever a request has text."""
    names = dict.fromkeys(("User-Agent", "X-Request-Id", "Referer"), 'x"}\t{"event":"forged"}')
    claims = msgspec.json.encode({"iss": FORGED, "client_id": FORGED})
    unsigned = f"{base64url(b'{}')}.{base64url(claims)}.{base64url(b'x')}"
    return [
        ask(server, {**GRANT, "client_id": FORGED, "client_secret": FORGED}),
        webshop.ask(client_secret=FORGED, scope=FORGED),
        ask(server, {**GRANT, **webshop.in_body}, {**names, "client-request-id": "forged"}),
        server.client.using(unsigned).get("companies", headers=names),
        server.client.get(f"companies({uuid4()})/{ENCODED}", headers=names),
        server.origin.get(ENCODED, headers=names),
    ]


def private_part(key: PrivateKey) -> str:
    """What only the owner of a key knows."""
    return str(key.as_dict(private=True)["d"])


def test_the_requests_were_what_they_should_be(traces: Traces) -> None:
    assert {each.status_code for each in traces.errors} == {400, 401}
    assert [each.status_code for each in traces.hostile] == [401, 401, 200, 401, 400, 404]
    assert "/comptoir/oauth2/v2.0/token" in traces.log
    assert (
        'comptoir_oauth_requests_total{endpoint="token",outcome="invalid_client"}' in traces.pages
    )


def test_no_secret_is_left_anywhere(traces: Traces) -> None:
    errors = "\n".join(f"{dict(each.headers)} {each.text}" for each in traces.errors)
    for name, secret in traces.secrets.items():
        assert len(secret) > 20
        for place in (traces.log, traces.audit, traces.pages, errors):
            assert secret not in place, name


def test_every_line_is_one_that_the_service_wrote(traces: Traces) -> None:
    for place in (traces.log, traces.audit):
        assert all(each.isprintable() or each == "\n" for each in place)
    lines = [msgspec.json.decode(each, type=dict[str, object]) for each in traces.log.splitlines()]
    assert "forged" not in {line["event"] for line in lines}
    ids = [line["id"] for line in lines if line["event"] == "request"]
    assert len(set(ids)) == len(ids)
    assert {each.headers["x-request-id"] for each in (*traces.errors, *traces.hostile)} <= set(ids)
    entries = traces.entries
    assert [each.number for each in entries] == list(range(1, len(entries) + 1))
    acts = [(each.act, each.target) for each in entries if each.by]
    assert [act for act, _ in acts] == [
        "client.add",
        "client.add",
        "client.key.add",
        "token.revoke",
    ]
