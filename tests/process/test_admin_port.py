"""The pages for the operator on a port of their own, and that no port has other pages.

The pages are the same whatever the database.
"""

import socket
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import product
from pathlib import Path

import httpx
import pytest

from comptoir.auth.origins import CONSOLE
from comptoir.auth.tokens import Scope
from process.conftest import StartServer
from support.clients import add_client
from support.databases import ON_SQLITE
from support.ports import free_port
from support.refusals import error_in
from support.server import Server, ShareServer, trust_of
from support.sockets import ask, head, http_client
from support.waiting import PATIENCE_SECONDS

HEALTH = "/healthz"
FRONT = ("/", "/front.css")
OF_ADMIN = (
    "/readyz",
    "/metrics",
    "/docs",
    "/docs/start.js",
    "/docs/start.css",
    "/docs/swagger-ui.js",
    "/docs/swagger-ui.css",
    "/docs/openapi.json",
)
DOCUMENTS = (
    "/oauth2/jwks",
    "/comptoir/discovery/v2.0/keys",
    "/.well-known/openid-configuration",
    "/.well-known/oauth-authorization-server",
    "/comptoir/.well-known/openid-configuration",
    "/comptoir/v2.0/.well-known/openid-configuration",
    "/.well-known/oauth-authorization-server/comptoir/v2.0",
)
ENDPOINTS = (
    "/oauth2/v2.0/token",
    "/comptoir/oauth2/v2.0/token",
    "/comptoir/oauth2/v2.0/revoke",
    "/comptoir/oauth2/v2.0/introspect",
)
AUTHORIZE = "/comptoir/oauth2/v2.0/authorize"
DOCUMENTED = {HEALTH, "/front.css", *OF_ADMIN, *DOCUMENTS, *ENDPOINTS, AUTHORIZE}

_SCANNED = """
// /* /.. /. /%00 /%2e%2e/etc/passwd /../../etc/passwd /docs/../data /docs/..%2f..%2fkeys
/.env /.git/config /.git/HEAD /.well-known /.well-known/security.txt /.well-known/jwks.json
/admin /admin/ /administrator /consoles /login /logout /user /users /manage /dashboard /setup
/status /server-status /server-info /health /healthcheck /live /ready /livez /ping /version /info
/debug /debug/pprof /debug/vars /trace /actuator /actuator/env /env /config /config.json /settings
/redoc /swagger /swagger.json /swagger-ui.html /openapi.json /openapi.yaml /api-docs /graphql /ws
/static /static/ /assets /files /uploads /download /data /data/comptoir.db /comptoir.db
/keys /keys/signing-key.pem /data/keys/signing-key.pem /watermarks.json /tls/localhost.key
/oauth2 /oauth2/ /oauth2/token /oauth2/v2.0 /oauth2/v2.0/authorize /oauth2/v2.0/revoke /oauth/token
/comptoir /comptoir/ /comptoir/v2.0 /comptoir/oauth2 /comptoir/oauth2/v2.0 /token /comptoir.toml
/common/oauth2/v2.0/token /organizations/oauth2/v2.0/token /common/discovery/v2.0/keys
/comptoir/oauth2/v1.0/token /comptoir/oauth2/v2.0/devicecode /comptoir/oauth2/v2.0/logout
/comptoir/oauth2/v2.0/register /comptoir/oauth2/v2.0/jwks.json /comptoir/v2.0/userinfo
/comptoir/discovery/v2.0 /comptoir/discovery/v2.0/keys/debug /v2.0/token /discovery/v2.0/keys
/favicon.ico /robots.txt /sitemap.xml /index.html /index.php
/wp-login.php /cgi-bin/ /phpinfo.php /apis /api.json /apix/companies /API/companies
"""
LIKELY = _SCANNED.split()
"""Paths that scanners try, and neighbours of the documented ones."""

INSIDE = (
    *("traceback", "starlette", "uvicorn", "python", "sqlite", "asyncpg", "site-packages"),
    *(".py", "/tmp", "admin_port", "8081"),
)
"""Words of the inside, which no error has."""


def varied(path: str) -> Iterator[str]:
    """Paths like a documented one."""
    yield from (f"{path}/", f"/{path}", f"{path}/x", f"{path}.bak", f"{path}~", path.upper())
    yield from (f"{path}.json", f"/api/..{path}", f"{path}%00", f"{path};x=1", f"/x{path}")


UNDOCUMENTED = sorted({*LIKELY, *(each for path in DOCUMENTED for each in varied(path))})


@pytest.fixture(scope="module")
def split(share_server: ShareServer) -> Server:
    """A service whose two processes serve two ports."""
    return share_server(workers=2, admin_port=free_port())


def statuses(address: tuple[str, int], paths: Sequence[str], method: str = "GET") -> dict[str, int]:
    return {path: answered(address, path, method).status_code for path in paths}


def answered(address: tuple[str, int], path: str, method: str = "GET") -> httpx.Response:
    with connected(address) as connection:
        return ask(connection, requested(path, method))


def connected(address: tuple[str, int]) -> socket.socket:
    return socket.create_connection(address, timeout=PATIENCE_SECONDS)


def requested(path: str, method: str, token: str = "") -> bytes:
    """A request for a path as it is, which the clients of libraries would change."""
    headers = {"Content-Length": "0"} | ({"Authorization": f"Bearer {token}"} if token else {})
    return head(method, path, headers)


def admin_address(server: Server) -> tuple[str, int]:
    return server.settings.admin_host, server.settings.admin_port


@ON_SQLITE
def test_the_operators_pages_are_on_their_port_only(split: Server) -> None:
    everywhere = (HEALTH, *FRONT)
    assert set(statuses(admin_address(split), (*everywhere, *OF_ADMIN)).values()) == {200}
    assert set(statuses(split.address, everywhere).values()) == {200}
    assert set(statuses(split.address, OF_ADMIN).values()) == {404}


@ON_SQLITE
def test_the_front_page_of_each_port_names_what_its_readers_can_open(split: Server) -> None:
    base_url = split.client.root
    api = {"api": base_url, "metadata": f"{base_url}/$metadata"}
    inside = {
        "console": split.settings.beside_api(CONSOLE),
        "documentation": split.settings.docs_url,
    }
    for address, expected in ((split.address, api), (admin_address(split), api | inside)):
        front = answered(address, "/").json()
        assert {name: front[name] for name in front if name not in ("name", "about")} == expected


@ON_SQLITE
def test_clients_are_served_on_the_other_port_only(split: Server, tmp_path: Path) -> None:
    webshop = add_client(split, tmp_path)
    assert split.client.using(webshop.token()).get("companies").status_code == 200
    assert set(statuses(split.address, DOCUMENTS).values()) == {200}
    outside = ("/api", "/api/", "/api/companies", "/api/$batch", AUTHORIZE)
    found = statuses(admin_address(split), (*outside, *DOCUMENTS))
    found |= statuses(admin_address(split), ENDPOINTS, "POST")
    assert set(found.values()) == {404}


@ON_SQLITE
def test_the_console_is_on_the_operators_port_only(split: Server) -> None:
    with http_client() as client:
        host, port = admin_address(split)
        assert client.get(f"http://{host}:{port}/console/login").status_code == 200
    assert split.origin.get("console/login").status_code == 404


@ON_SQLITE
@pytest.mark.parametrize("port", ["main", "admin", "joint"])
def test_only_documented_paths_answer_and_errors_tell_nothing(
    split: Server, server: Server, port: str
) -> None:
    """Not even to a client whose token allows everything."""
    service = server if port == "joint" else split
    address = admin_address(split) if port == "admin" else service.address
    token = service.tokens.issue([Scope.ADMIN])
    with ExitStack() as stack:
        connection = None
        for path, method in product(UNDOCUMENTED, ("GET", "POST")):
            connection = connection or stack.enter_context(connected(address))
            answer = ask(connection, requested(path, method, token))
            assert answer.status_code in {400, 404}, (method, path)
            error = error_in(answer.content)
            text = f"{error.message} {answer.headers}".lower()
            assert [word for word in INSIDE if word in text] == [], (method, path)
            assert "server" not in answer.headers
            if answer.headers.get("connection") == "close":
                connection = None


@ON_SQLITE
def test_both_ports_speak_tls(start_server: StartServer) -> None:
    server = start_server(https=True, admin_port=free_port())
    with http_client(trust=trust_of(server.settings)) as client:
        assert server.origin.get("readyz").status_code == 404
        host, port = admin_address(server)
        assert client.get(f"https://{host}:{port}/readyz").text == "ready\n"
