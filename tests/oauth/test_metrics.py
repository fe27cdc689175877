"""The metrics of clients: what they exceed, and how their requests for tokens end."""

import re
from pathlib import Path

from comptoir.auth.failures import FREE_FAILURES
from support.clients import add_client, ask
from support.databases import run_sql
from support.service import Service, StartService


def counted(service: Service, name: str) -> dict[str, float]:
    """The series of a counter that are not 0, by their labels."""
    found = re.findall(
        rf"^comptoir_{name}_total\{{(.*)\}} (\S+)$",
        service.origin.get("metrics").text,
        re.MULTILINE,
    )
    return {labels.replace('"', ""): float(value) for labels, value in found if float(value)}


def test_429_is_counted_by_the_limit(start_service: StartService, tmp_path: Path) -> None:
    service = start_service(client_requests=2, queued_writes=2)
    company = service.new_company()
    for number in range(3):
        company.post("itemAttributesExt", {"name": f"A{number}"})
    slow = company.using(add_client(service, tmp_path, "--rate", "1/3600s").token())
    small = company.using(add_client(service, tmp_path, "--quota", "1").token())
    eager = company.using(add_client(service, tmp_path).token())
    assert [slow.get("itemAttributesExt").status_code for _ in range(3)] == [200, 429, 429]
    assert [small.get("itemAttributesExt").status_code for _ in range(2)] == [200, 429]
    for party, letter in ((eager, "B"), (company, "C")):
        writes = [
            party.build("POST", "itemAttributesExt", body={"name": f"{letter}{number}"})
            for number in range(3)
        ]
        assert sorted(each.status_code for each in service.send_all(writes)) == [201, 201, 429]
    guessed = add_client(service, tmp_path)
    refused = [guessed.ask(client_secret="wrong").status_code for _ in range(FREE_FAILURES + 1)]
    assert refused == [*[401] * FREE_FAILURES, 429]
    assert counted(service, "limited") == {
        "limit=rate": 2,
        "limit=quota": 1,
        "limit=concurrency": 1,
        "limit=queue": 1,
        "limit=guesses": 1,
    }


def test_requests_for_tokens_are_counted_by_outcome(
    start_service: StartService, tmp_path: Path
) -> None:
    service = start_service()
    webshop = add_client(service, tmp_path)
    token = webshop.token()
    assert webshop.ask(client_secret="wrong").status_code == 401
    assert webshop.ask(scope="admin").status_code == 400
    assert ask(service, {}, path="oauth2/v2.0/token").status_code == 400
    assert webshop.send("introspect", token).status_code == 200
    assert webshop.send("revoke", token).status_code == 200
    assert counted(service, "oauth_requests") == {
        "endpoint=token,outcome=success": 1,
        "endpoint=token,outcome=invalid_client": 1,
        "endpoint=token,outcome=invalid_scope": 1,
        "endpoint=token,outcome=invalid_request": 1,
        "endpoint=introspect,outcome=success": 1,
        "endpoint=revoke,outcome=success": 1,
    }


def test_errors_of_the_database_are_counted(start_service: StartService, tmp_path: Path) -> None:
    service = start_service()
    webshop = add_client(service, tmp_path)
    before = counted(service, "database_errors")
    hide = "ALTER TABLE control RENAME TO hidden"
    service.beside(lambda: run_sql(service.settings.database, hide))
    assert webshop.ask().status_code == 503
    after = counted(service, "database_errors")
    assert sum(after.values()) > sum(before.values())
    assert all(label.startswith("code=Internal_") for label in after)
    unanswered = counted(service, "oauth_requests")
    assert unanswered == {"endpoint=token,outcome=temporarily_unavailable": 1}
