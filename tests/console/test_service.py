"""The console of services with other settings and with several processes."""

import asyncio
from pathlib import Path

import httpx
import pytest
from starlette.types import ASGIApp, Receive, Scope, Send

from comptoir.auth.records import ConsoleRole
from comptoir.catalog import MODEL
from comptoir.config import Settings
from comptoir.features.console.guards import HEADERS, Guards
from comptoir.http.log import Journal, RequestLog
from comptoir.http.metrics import Metrics
from comptoir.http.redaction import Redactor
from support.command import Command
from support.console import FORM, Browser, console_of, new_code, origin_of
from support.databases import FreshDatabase
from support.log import line_about
from support.server import Server
from support.service import Service, StartService
from support.sockets import head
from support.worker_connections import WorkerConnections, process_of

PUBLIC = "https://erp.example.com/api"


def test_a_console_with_a_public_url(start_service: StartService) -> None:
    service = start_service(public_url=PUBLIC, console="on")
    browser = Browser(service, origin_of(service.settings))
    answer = browser.post("/console/login", {"code": new_code(service.admin)})
    (cookie,) = answer.headers.get_list("set-cookie")
    name, *attributes = cookie.split("; ")
    assert name.startswith("__Host-comptoir=")
    assert sorted(attributes) == ["HttpOnly", "Path=/", "SameSite=strict", "Secure"]
    assert browser.get("/console").status_code == 200
    plain = Browser(service, "http://127.0.0.1:8080")
    answer = plain.post("/console/login", {"code": new_code(service.admin)})
    (cookie,) = answer.headers.get_list("set-cookie")
    assert cookie.startswith("comptoir_console_8080=")
    assert "Secure" not in cookie


def test_two_services_of_a_host(fresh_database: FreshDatabase, tmp_path: Path) -> None:
    """Browsers send the cookies of a host to all its ports."""
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
    with (
        Service(fresh_database, tmp_path / "one", MODEL, port=8081) as one,
        Service(fresh_database, tmp_path / "other", MODEL, port=8082) as other,
    ):
        first, second = (Browser(each, origin_of(each.settings)) for each in (one, other))
        second.cookies = first.cookies
        for browser, service in ((first, one), (second, other)):
            browser.log_in(new_code(service.admin))
        assert sorted(first.cookies) == ["comptoir_console_8081", "comptoir_console_8082"]
        assert [each.get("/console").status_code for each in (first, second)] == [200, 200]
        first.submit(first.get("/console"), "/console/sessions/log-out")
        assert [each.get("/console").status_code for each in (first, second)] == [303, 200]


@pytest.mark.parametrize(
    ("setting", "value"), [("console", "off"), ("public_url", PUBLIC), ("host", "0.0.0.0")]
)
def test_a_service_without_a_console(start_service: StartService, setting: str, value: str) -> None:
    service = start_service(MODEL, **{setting: value})
    for path in ("console", "console/login"):
        answer = service.origin.get(path)
        assert answer.status_code == 404
        assert answer.headers["content-type"].startswith("text/plain")
        assert "The setting `console` decides where it is" in answer.text


def test_a_console_beyond_loopback_needs_https(command: Command) -> None:
    error = command.refused('console = "on"\nhost = "0.0.0.0"\nport = 0\n')
    assert "the console is on, and browsers use http://0.0.0.0" in error
    assert "Set tls_certificate and tls_key" in error


def test_a_console_on_all_addresses_is_for_browsers_on_the_machine(
    fresh_database: FreshDatabase, tmp_path: Path
) -> None:
    """As in a container, whose port is published on the loopback address."""
    with Service(
        fresh_database, tmp_path, MODEL, admin_host="0.0.0.0", admin_port=8091, console="on"
    ) as service:
        origin = origin_of(service.settings)
        assert origin == "http://127.0.0.1:8091"
        for name in (origin, "http://localhost:8091"):
            browser = Browser(service, name)
            assert browser.log_in(new_code(service.admin)).status_code == 200
        for other in ("http://0.0.0.0:8091", "http://10.0.0.5:8091", "http://erp.example.com:8091"):
            answer = Browser(service, other).get("/console/login")
            assert answer.status_code == 421
            assert origin in answer.text


def test_any_process_knows_a_session(workers: Server) -> None:
    browser = console_of(workers)
    browser.log_in(new_code(workers.admin, subject="carl"))
    (secret,) = browser.cookies.items()
    with WorkerConnections(workers, 12) as connections:
        reader = Browser(connections, browser.origin)
        reader.cookies = dict([secret])

        def answers() -> set[tuple[str, int]]:
            found = [reader.get("/console") for _ in range(12)]
            return {(process_of(each), each.status_code) for each in found}

        assert {status for _, status in answers()} == {200}
        assert len({process for process, _ in answers()}) == 2
        browser.submit(browser.get("/console/sessions"), "/console/sessions/end")
        assert {status for _, status in answers()} == {303}


def test_slow_forms_keep_nobody_out(server: Server) -> None:
    browser = console_of(server)
    browser.log_in(new_code(server.admin, ConsoleRole.VIEWER, "frida"))
    slow = [server.connect() for _ in range(20)]
    for each in slow:
        each.sendall(sent_by(browser, "/console/sessions/end", 10))
    # a request that is complete comes after them
    assert [browser.get("/console").status_code for _ in range(20)] == [200] * 20
    for each in slow:
        each.close()


def sent_by(browser: Browser, path: str, length: int) -> bytes:
    """The head of a form that a browser sends."""
    headers = {
        "Cookie": "; ".join(f"{name}={value}" for name, value in browser.cookies.items()),
        "Sec-Fetch-Site": "same-origin",
        "Content-Type": FORM,
        "Content-Length": str(length),
    }
    host = browser.origin.removeprefix("http://").encode()
    return head("POST", path, headers).replace(b"Host: test", b"Host: " + host)


def test_what_pages_load_by_themselves_is_not_logged(server: Server) -> None:
    browser = console_of(server)
    browser.log_in(new_code(server.admin))
    since = server.log.stat().st_size
    for path in (
        "/console/requests/rows",
        "/console/static/console.css",
        "/console/static/none.js",
    ):
        browser.get(path)
    browser.get("/console/login")

    line_about(server, "/console/login", since)
    assert line_about(server, "/console/static/none.js", since).status == 404
    log = server.log.read_text("utf-8")[since:]
    assert "console.css" not in log
    assert "requests/rows" not in log


async def _fails(scope: Scope, receive: Receive, send: Send) -> None:
    raise ZeroDivisionError


async def _stops(scope: Scope, receive: Receive, send: Send) -> None:
    raise asyncio.CancelledError


async def first_page(inner: ASGIApp) -> httpx.Response:
    journal = Journal(RequestLog("off", Redactor.of(MODEL)), Metrics())
    guards = Guards(inner, Settings(), journal)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(guards)) as client:
        return await client.get("http://127.0.0.1:8080/console")


@pytest.mark.parametrize(("inner", "status"), [(_fails, 500), (_stops, 503)])
def test_a_failure_is_a_page(inner: ASGIApp, status: int, caplog: pytest.LogCaptureFixture) -> None:
    answer = asyncio.run(first_page(inner))
    assert answer.status_code == status
    assert {name: answer.headers[name] for name in HEADERS} == HEADERS
    assert ("ZeroDivisionError" in caplog.text) == (inner is not _stops)
    assert "ZeroDivision" not in answer.text
