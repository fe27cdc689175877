"""`comptoir rehearse report`: what the clients of a service with faults have met."""

from pathlib import Path

import msgspec
import pytest

from comptoir.auth.tokens import Scope
from process.conftest import StartServer
from support.command import Command, Result
from support.databases import ON_SQLITE
from support.server import Server, ShareServer

pytestmark = ON_SQLITE  # requests to the control endpoint read no records


@pytest.fixture(scope="module")
def rehearsed(share_server: ShareServer) -> Server:
    """A service with faults, whose client was throttled twice and has not sent an entity tag."""
    server = share_server(faults="on")
    company = server.new_company()
    created = company.post("contactsExt", {"displayName": "A"}).json()
    for _ in range(2):
        throttled = company.get("contactsExt", headers={"Comptoir-Fault": "throttle"})
        assert throttled.status_code == 429
    assert company.get("contactsExt").status_code == 200
    refused = company.patch(f"contactsExt({created['id']})", {"displayName": "B"})
    assert refused.status_code == 428
    return server


@pytest.fixture
def command(rehearsed: Server, tmp_path: Path) -> Command:
    """The command with the keys of the service."""
    (tmp_path / "keys").symlink_to(rehearsed.settings.keys)
    return Command.without_database(tmp_path)


def report(command: Command, server: Server, *options: str) -> Result:
    return command.here("rehearse", "report", "--url", server.base_url, *options)


def test_the_report_says_what_was_met_and_what_not(command: Command, rehearsed: Server) -> None:
    done = report(command, rehearsed)
    assert (done.status, done.err) == (0, "")
    *met, missing = done.out.splitlines()
    assert sorted(met) == [
        "missing-tag  met 1, by a fault 0, recovered: no. Read the record and send its ETag.",
        "throttling   met 2, by a fault 2, recovered: yes.",
    ]
    assert missing.startswith("not met: ")
    assert "stale-tag" in missing
    assert "throttling" not in missing


def test_the_report_is_json_by_an_option(command: Command, rehearsed: Server) -> None:
    decoded = msgspec.json.decode(report(command, rehearsed, "--json").out)
    assert (decoded["throttling"]["met"], decoded["throttling"]["byFault"]) == (2, 2)
    assert decoded["stale-tag"]["recovered"] is None


def test_the_report_is_printed_when_the_clock_is_ahead(command: Command, rehearsed: Server) -> None:
    control = rehearsed.origin.using(rehearsed.tokens.issue([Scope.FAULTS]))
    moved = control.post("faults/clock", {"advance": "PT10M"})
    assert moved.status_code == 200, moved.text
    assert report(command, rehearsed).status == 0


def test_a_required_trap_that_was_not_met_is_a_failure(command: Command, rehearsed: Server) -> None:
    assert report(command, rehearsed, "--require", "throttling, missing-tag").status == 0
    failed = report(command, rehearsed, "--require", "throttling,stale-tag,lock")
    assert failed.out == report(command, rehearsed).out
    assert failed.error().startswith("comptoir: no client has met stale-tag, lock. ")


def test_an_unknown_trap_is_a_failure_before_the_service_is_asked(
    command: Command, rehearsed: Server
) -> None:
    failed = report(command, rehearsed, "--require", "throtling")
    assert failed.out == ""
    assert failed.error() == (
        "comptoir: unknown trap 'throtling' in --require. Did you mean throttling?"
    )


def test_a_token_needs_the_scope(command: Command, rehearsed: Server) -> None:
    able = rehearsed.tokens.issue([Scope.FAULTS])
    assert report(command, rehearsed, "--token", able).status == 0
    failed = report(command, rehearsed, "--token", rehearsed.tokens.issue([Scope.RECORDS_READ]))
    assert "/faults/report returns 403. " in failed.error()
    assert "faults" in failed.error().partition("403")[2]


def test_another_service_or_none_is_a_failure(start_server: StartServer, tmp_path: Path) -> None:
    server, command = start_server(), Command.without_database(tmp_path)
    failed = report(command, server).error()
    assert failed.endswith("/faults/report returns 404. Start the service with --faults.")
    server.kill()
    failed = report(command, server).error()
    assert " does not respond: " in failed
    assert failed.endswith("or name another one with --url.")
    failed = command.error("rehearse", "report", "--url", "127.0.0.1:8080")
    assert failed.startswith("comptoir: invalid --url '127.0.0.1:8080'. ")
