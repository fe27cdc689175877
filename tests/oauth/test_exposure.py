"""Credentials and tokens do not get into URLs, caches, logs, or scripts of other sites."""

from collections.abc import Iterator

import pytest

from support.clients import GRANT, TOKEN_PATH, Webshop, add_client, ask
from support.databases import ON_SQLITE, FreshDatabase
from support.service import Service
from support.together import together

pytestmark = ON_SQLITE  # headers do not depend on the database

SITE = "https://app.example.com"
WITH_A_CLIENT = [
    TOKEN_PATH,
    *(TOKEN_PATH.replace("token", name) for name in ("revoke", "introspect")),
]


@pytest.fixture(scope="module")
def open_to_all(
    fresh_database: FreshDatabase, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Webshop]:
    """A client of a service whose records scripts of all sites may read."""
    folder = tmp_path_factory.mktemp("open_to_all")
    with Service(fresh_database, folder, cors_origins="*") as service:
        yield add_client(service, folder)


@together("path", WITH_A_CLIENT)
def test_scripts_of_other_sites_do_not_use_the_endpoint(open_to_all: Webshop, path: str) -> None:
    """A script cannot keep a secret, so only the API has CORS headers."""
    service = open_to_all.service
    token = open_to_all.token()
    asked = {"Origin": SITE, "Access-Control-Request-Method": "POST"}
    assert service.client.request("OPTIONS", "companies", headers=asked).status_code == 204
    preflight = service.origin.request("OPTIONS", path, headers=asked)
    form = {**GRANT, **open_to_all.in_body, "token": token}
    simple = ask(service, form, {"Origin": SITE}, path)
    assert (preflight.status_code, simple.status_code) == (405, 200)
    for response in (preflight, simple):
        assert not [name for name in response.headers if name.startswith("access-control-")]


@together("path", WITH_A_CLIENT)
def test_no_response_is_cached(open_to_all: Webshop, path: str) -> None:
    """Neither a token nor an error."""
    service = open_to_all.service
    form = {**GRANT, **open_to_all.in_body, "token": open_to_all.token()}
    responses = [
        service.origin.get(path),
        ask(service, form, path=path),
        ask(service, {}, path=path),
    ]
    assert {each.headers["Cache-Control"] for each in responses} == {"no-store"}
