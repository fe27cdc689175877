"""The addresses in the documentation; `process/test_admin_port.py` tests that no others respond."""

import re

from docs.pages import DOCS
from support.databases import ON_SQLITE
from support.service import Service

pytestmark = ON_SQLITE

OPERATION = ("/healthz", "/readyz", "/metrics", "/docs")
ADDRESS = re.compile(r"`(GET|POST) (/[^ `]+)`")


def documented() -> dict[str, str]:
    """The methods of the addresses in the documentation."""
    clients, run = (
        (DOCS / "how-to" / name).read_text("utf-8") for name in ("clients.md", "run.md")
    )
    of_clients = {path: method for method, path in ADDRESS.findall(clients)}
    return of_clients | {path: "GET" for path in OPERATION if f"`{path}`" in run}


def test_every_documented_address_responds(service: Service) -> None:
    for path, method in documented().items():
        assert service.origin.request(method, path[1:]).status_code not in (404, 405), path
