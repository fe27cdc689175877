"""Each failed authentication is in the audit log: who failed, from where, and why."""

import base64
from collections import Counter
from pathlib import Path

from joserfc.jwk import ECKey

from comptoir.auth.audit import AuditEntry
from support.assertions import add_signer
from support.clients import GRANT, add_client, ask, failed
from support.command import Command
from support.databases import FreshDatabase
from support.service import Service

WRONG = "The secret is wrong"


def counted(entries: list[AuditEntry]) -> list[tuple[str, str, str, str]]:
    """The targets, addresses, counts and reasons of entries."""
    found: Counter[tuple[str, str, str]] = Counter()
    for each in entries:
        assert each.by == ""
        found[(each.target, each.address, each.detail.removeprefix("reason="))] += 1
    return sorted(
        (target, address, f"count={count}", reason)
        for (target, address, reason), count in found.items()
    )


def test_failures_at_the_token_endpoint(fresh_database: FreshDatabase, tmp_path: Path) -> None:
    with Service(fresh_database, tmp_path) as service:
        webshop = add_client(service, tmp_path)
        closed = add_client(service, tmp_path)
        closed.command.done("client", "disable", closed.name)
        for secret in ("a", "b", "c"):
            assert webshop.ask(client_secret=secret).status_code == 401
        basic = base64.b64encode(f"{webshop.id}:{'wrong'}".encode()).decode()
        assert ask(service, GRANT, {"Authorization": f"Basic {basic}"}).status_code == 401
        assert closed.ask().status_code == 401
        unknown = {**GRANT, "client_id": "no\n\0body", "client_secret": webshop.secret}
        assert ask(service, unknown).status_code == 401
        assert webshop.ask().status_code == 200
    entries = failed(webshop.command)
    assert counted(entries) == sorted(
        [
            (webshop.id, "127.0.0.1", "count=4", WRONG),
            (closed.id, "127.0.0.1", "count=1", "The client is disabled"),
            ("no\ufffd\ufffdbody", "127.0.0.1", "count=1", "The client is unknown"),
        ]
    )
    assert len({each.request for each in entries}) == len(entries)


def test_failures_of_assertions(fresh_database: FreshDatabase, tmp_path: Path) -> None:
    with Service(fresh_database, tmp_path) as service:
        signer = add_signer(service, tmp_path, ECKey.generate_key("P-256"))
        used = signer.sign()
        assert signer.ask(used).status_code == 200
        assert signer.ask(used).status_code == 401
        assert signer.ask(signer.sign(key=ECKey.generate_key("P-256"))).status_code == 401
        assert signer.ask(signer.sign(signer.claims(aud="x"))).status_code == 401
    assert counted(failed(signer.command)) == [
        (signer.id, "127.0.0.1", "count=1", reason)
        for reason in (
            "None of the client's keys signed the assertion",
            "The assertion is for another audience (aud)",
            "The assertion was used before (jti)",
        )
    ]


def test_failures_of_bearer_tokens(fresh_database: FreshDatabase, tmp_path: Path) -> None:
    with Service(fresh_database, tmp_path) as service:
        webshop = add_client(service, tmp_path)
        token = webshop.token()
        issuer = f"{service.origin.root}/comptoir/v2.0"
        assert service.client.using(token).get("companies").status_code == 200
        assert webshop.send("revoke", token).status_code == 200
        for sent in (token, token, service.tokens.of_another_issuer(), "not-a-token"):
            assert service.client.using(sent).get("companies").status_code == 401
        # without credentials, nothing was attempted
        assert service.origin.get("api/companies").status_code == 401
        assert service.client.get("companies").status_code == 200
    found = counted(failed(webshop.command))
    assert [each[:3] for each in found] == sorted(
        [
            (f"{issuer} {webshop.id}", "127.0.0.1", "count=2"),
            ("another", "127.0.0.1", "count=1"),
            ("", "127.0.0.1", "count=1"),
        ]
    )
    assert (
        f"{issuer} {webshop.id}",
        "127.0.0.1",
        "count=2",
        "The bearer token was revoked",
    ) in found


def test_a_payload_of_any_form_is_counted(fresh_database: FreshDatabase, tmp_path: Path) -> None:
    payloads = (b"", b"[]", b'{"iss": 5}', b"\xff", b"{" * 5_000)
    with Service(fresh_database, tmp_path) as service:
        for each in payloads:
            token = b".".join([b"e30", base64.urlsafe_b64encode(each), b"e30"]).decode()
            assert service.client.using(token).get("companies").status_code == 401
        command = Command(tmp_path, service.settings.database)
    assert [each.target for each in failed(command)] == [""] * len(payloads)
