"""The page `/docs`: all of its files come from the service, without a token."""

import re

import msgspec

from support.batches import multipart
from support.databases import ON_SQLITE
from support.service import Service
from support.together import together

pytestmark = ON_SQLITE  # nothing of this is up to the database

PARTS = ["docs/swagger-ui.js", "docs/swagger-ui.css", "docs/start.js", "docs/start.css"]


def test_the_page_loads_its_files_from_the_service(service: Service) -> None:
    page = service.origin.get("docs")
    assert page.status_code == 200
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert sorted(re.findall(r'(?:src|href)="(docs[^"]*)"', page.text)) == sorted(PARTS)
    assert "://" not in page.text


@together("path", PARTS)
def test_the_files_of_the_page_exist(service: Service, path: str) -> None:
    kind = "text/css" if path.endswith("css") else "text/javascript"
    answer = service.origin.get(path)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == f"{kind}; charset=utf-8"
    assert len(answer.content) > 100


@together("path", ["docs", "docs/openapi.json", *PARTS])
def test_the_browser_may_load_nothing_from_other_sites(service: Service, path: str) -> None:
    policy = service.origin.get(path).headers["content-security-policy"]
    allowed = {source for rule in policy.split(";") for source in rule.split()[1:]}
    assert policy.startswith("default-src 'none';")
    assert allowed == {"'none'", "'self'", "data:"}


def test_the_document_needs_no_token(service: Service) -> None:
    answer = service.origin.get("docs/openapi.json")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"
    document = msgspec.json.decode(answer.content)
    assert document["openapi"] == "3.1.0"
    assert document["servers"][0]["url"] == service.settings.base_url


def test_the_example_of_a_batch_is_valid(service: Service) -> None:
    document = msgspec.json.decode(service.origin.get("docs/openapi.json").content)
    [example] = document["components"]["schemas"]["batch-parts"]["examples"]

    [part] = multipart(service.client, example.encode())

    assert part.status == 200
    assert msgspec.json.decode(part.body)["value"] is not None


def test_the_error_for_an_unknown_page_names_the_documentation(service: Service) -> None:
    assert "documented at /docs" in service.origin.get("documentation").json()["error"]["message"]
