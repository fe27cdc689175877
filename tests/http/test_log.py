"""The log: short lines on a terminal, JSON elsewhere, and what the level `debug` adds."""

import os
import pty
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from comptoir.edm.model import Model
from comptoir.errors.refusal import Refusal
from comptoir.errors.refusal_rows import STALE_TAG
from comptoir.http.exchange import Exchange
from comptoir.http.log import RequestLog
from comptoir.http.redaction import MASK, Redactor
from support.databases import ON_SQLITE
from support.service import Service

COMPANY = "/api/companies(0eb43e07-0cac-47d3-9cbd-f7a1b945f859)"
CONTACT = "contactsExt(01840000-0cac-47d3-9cbd-f7a1b945f859)"
REDACTOR = Redactor(["onlinePassword"])


def ended(path: str, query: str = "", status: int = 200, *refusals: Refusal) -> Exchange:
    exchange = Exchange.begun(
        {"method": "PATCH", "path": path, "query_string": query.encode(), "client": ("::1", 1)}
    )
    for refusal in refusals:
        exchange.note_refusal(refusal)
    exchange.status = status
    exchange.end()
    exchange.seconds = 0.0031
    return exchange


def on_terminal(level: str, exchange: Exchange) -> str:
    """The line of an exchange on a terminal, after its time."""
    terminal, descriptor = pty.openpty()
    try:
        RequestLog(level, REDACTOR, descriptor).write([exchange])
        line = os.read(terminal, 10_000).decode()
    finally:
        os.close(descriptor)
        os.close(terminal)
    assert line[2] == line[5] == ":"
    return line[9:].rstrip("\r\n")


STALE = STALE_TAG(tag="")


def test_a_line_on_a_terminal_is_short() -> None:
    refused = ended(f"{COMPANY}/{CONTACT}", "", 412, STALE)

    assert on_terminal("info", refused) == "PATCH contactsExt(0184…) 412 tag 3.1 ms"
    for path, short in (
        (COMPANY, "/api/companies(0eb4…)"),
        (f"{COMPANY}/", "/api/companies(0eb4…)/"),
        (f"{COMPANY}/{CONTACT}".replace("(", "(id="), "contactsExt(id=0184…)"),
        ("/api/companies(name='A (B)')/itemsExt", "itemsExt"),
        ("/api/companies(x/itemsExt", "/api/companies(x/itemsExt"),
        ("/healthz", "/healthz"),
    ):
        assert on_terminal("info", ended(path)) == f"PATCH {short} 200 3.1 ms"
    # a path of many companies is not searched for long
    assert on_terminal("info", ended("/companies(" * 5_000)).startswith("PATCH /companies(")


def test_a_query_is_on_a_terminal_only_with_debug() -> None:
    asked = ended(f"{COMPANY}/contactsExt", "$filter=city%20eq%20'Ulm'")

    assert on_terminal("info", asked) == "PATCH contactsExt 200 3.1 ms"
    shown = "PATCH contactsExt?$filter=city%20eq%20'Ulm' 200 3.1 ms"
    assert on_terminal("debug", asked) == shown


def test_a_client_does_not_control_the_terminal() -> None:
    assert on_terminal("info", ended("/api/\x1b[2J\u202e")) == "PATCH /api/�[2J� 200 3.1 ms"


# the log does not depend on the database
@ON_SQLITE
def test_debug_adds_queries_and_checks(
    fresh_database: Callable[[Path, Model], str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with Service(fresh_database, tmp_path, log_level="debug") as service:
        company = service.new_company()
        company.get("contactsExt?$filter=onlinePassword eq @p&@p='canary'")
        company.get("contactsExt?$top=1")
        company.get("nothingExt")
    lines = [msgspec.json.decode(each) for each in capfd.readouterr().err.splitlines()]

    asked = [each for each in lines if each["event"] == "request" and "Ext" in each["path"]]
    assert [each["query"] for each in asked] == [f"$filter={MASK}&@p={MASK}", "$top=1", ""]
    assert [each["checks"] for each in asked] == [["syntax"], [], ["resource"]]
    assert "canary" not in str(lines)
