"""Outside the base path only documented addresses respond, and errors say nothing of the inside."""

import re
from collections.abc import Iterable

from docs.pages import DOCS
from support.databases import ON_SQLITE
from support.server import Server
from support.service import Service

pytestmark = ON_SQLITE

WORDS = (
    *("common", "organizations", "v1.0", "devicecode", "logout", "userinfo", "register"),
    *("jwks.json", "admin", "console", "debug", "status", ".env", ".git"),
)
"""What other servers have in their addresses."""
OPERATION = ("/healthz", "/readyz", "/metrics", "/docs")
CONSOLE = "/console"
PROGRAMS = re.compile(r"python|starlette|uvicorn|traceback|\.py\b", re.IGNORECASE)
ADDRESS = re.compile(r"`(GET|POST) (/[^ `]+)`")


def documented() -> dict[str, str]:
    """The methods of the addresses in the documentation."""
    clients, run = (
        (DOCS / "how-to" / name).read_text("utf-8") for name in ("clients.md", "run.md")
    )
    of_clients = {path: method for method, path in ADDRESS.findall(clients)}
    return of_clients | {path: "GET" for path in OPERATION if f"`{path}`" in run}


def neighbours(paths: Iterable[str]) -> set[str]:
    """Each path with a segment removed, replaced or added."""
    split = [path[1:].split("/") for path in paths]
    words = {*WORDS, *(word for path in split for word in path)}
    found = set()
    for path in split:
        for at in range(len(path) + 1):
            before, after = path[:at], path[at + 1 :]
            replaced = [[*before, *rest] for rest in ([word, *after] for word in words)]
            added = [[*before, word, *path[at:]] for word in words]
            found |= {"/" + "/".join(each) for each in ([*before, *after], *replaced, *added)}
    return found


def test_every_documented_address_responds(service: Service) -> None:
    for path, method in documented().items():
        assert service.origin.request(method, path[1:]).status_code not in (404, 405), path


def test_no_other_address_responds(service: Service) -> None:
    origin, known = service.origin, documented()
    pages = known.keys() | {"/"}
    # the pages of the console have the guards of the console
    others = sorted(each for each in neighbours(known) - pages if not each.startswith(CONSOLE))
    assert len(others) > 2_000
    responses = service.send_all([origin.build("GET", path[1:]) for path in others])
    found = [path for path, each in zip(others, responses, strict=True) if each.status_code != 404]
    assert found == []
    assert {each.text for each in responses} == {origin.get("nothing").text}


def test_an_error_does_not_name_the_program(server: Server) -> None:
    for path in ("nothing", "comptoir/oauth2/v2.0/token"):
        response = server.origin.get(path)
        assert response.is_client_error
        assert not {"server", "x-powered-by", "via"} & {name.lower() for name in response.headers}
        assert not PROGRAMS.search(response.text)
