"""Faults on demand over a socket: connections that are cut, the log's lines, and the audit log."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from support.command import Command
from support.companies import Company
from support.databases import ON_SQLITE
from support.log import line_about, line_of
from support.rehearsal import Rehearsal, rehearsing
from support.server import Server, ShareServer
from support.sockets import http_client

pytestmark = ON_SQLITE  # connections, the log and the control endpoint


@pytest.fixture(scope="module")
def faulty(share_server: ShareServer) -> Server:
    """A server with faults on demand."""
    return share_server(faults="on")


@pytest.fixture
def company(faulty: Server) -> Company:
    """A company without records, whose requests are those of one test."""
    return faulty.new_company()


@pytest.fixture
def rehearsal(faulty: Server) -> Iterator[Rehearsal]:
    """The control endpoint, without rules at the end."""
    with rehearsing(faulty) as control:
        yield control


def named(company: Company, name: str) -> int:
    return len(company.listed("contactsExt", {"$filter": f"displayName eq '{name}'"}))


@pytest.mark.parametrize(("phase", "stored"), [("before", 0), ("after", 1)])
def test_a_connection_is_cut(
    phase: str, stored: int, faulty: Server, company: Company, rehearsal: Rehearsal
) -> None:
    rehearsal.set({"id": "cut", "fault": f"reset; phase={phase}", "match": {"method": "POST"}})
    since = len(faulty.log.read_bytes())
    with pytest.raises(httpx.TransportError):
        company.post("contactsExt", {"displayName": phase})
    assert named(company, phase) == stored
    firing = rehearsal.firings()[-1]
    assert (firing.rule, firing.method) == ("cut", "POST")
    line = line_of(faulty, firing.request)
    assert (line.fault, line.status) == ("cut", 499)
    assert line == line_about(faulty, line.path, since)


@pytest.mark.parametrize("length", [0, 1, 20])
@pytest.mark.parametrize("coding", ["identity", "zstd, gzip"])
def test_a_connection_is_cut_within_the_body(
    length: int, coding: str, faulty: Server, company: Company, rehearsal: Rehearsal
) -> None:
    whole = company.get("contactsExt").content
    rehearsal.set(f"reset; phase=body; bytes={length}")
    received = b""
    sent = company.build("GET", "contactsExt", headers={"Accept-Encoding": coding})
    with http_client() as client:
        response = client.send(sent, stream=True)
        assert (response.status_code, response.headers["comptoir-fault-applied"]) == (200, "r")
        pieces = response.iter_raw()
        while len(received) < length:
            received += next(pieces)
        with pytest.raises(httpx.TransportError):
            next(pieces)
    assert received == whole[:length]
    assert line_of(faulty, response.headers["x-request-id"]).fault == "r"


def test_a_connection_is_cut_within_a_batch(company: Company, rehearsal: Rehearsal) -> None:
    write = {"id": "1", "method": "POST", "url": "contactsExt", "body": {"displayName": "Batch"}}
    fault = {"Comptoir-Fault": "reset; phase=after", "Content-Type": "application/json"}
    with pytest.raises(httpx.TransportError):
        company.post("$batch", {"requests": [{**write, "headers": fault}]})
    assert named(company, "Batch") == 1


def test_a_line_names_the_rule_of_a_refusal(
    faulty: Server, company: Company, rehearsal: Rehearsal
) -> None:
    rehearsal.set("throttle")
    refused = company.get("contactsExt")
    assert line_of(faulty, refused.headers["x-request-id"]).fault == "r"
    rehearsal.set()
    passed = company.get("contactsExt")
    assert line_of(faulty, passed.headers["x-request-id"]).fault == ""


def test_the_audit_log_has_the_start_and_each_change(
    faulty: Server, rehearsal: Rehearsal, tmp_path: Path
) -> None:
    rehearsal.set({"id": "one", "fault": "lock"}, {"id": "two", "fault": "vanish"})
    listed = Command(tmp_path, faulty.settings.database).run("audit").out
    acts = [line for line in listed.splitlines() if "faults.change" in line]
    assert "no rules" in acts[0]
    assert "one two" in acts[-1]
    assert "tests" in acts[-1]
