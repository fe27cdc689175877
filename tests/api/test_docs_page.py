"""The page `/docs`: all of its files come from the service, without a token."""

import re

import msgspec

from support.batches import multipart
from support.databases import ON_SQLITE
from support.service import Service

pytestmark = ON_SQLITE  # nothing of this is up to the database


def test_the_page_loads_its_files_from_the_service(service: Service) -> None:
    page = service.origin.get("docs")
    assert page.status_code == 200
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert sorted(re.findall(r'(?:src|href)="(docs[^"]*)"', page.text)) == [
        *("docs/start.css", "docs/start.js", "docs/swagger-ui.css", "docs/swagger-ui.js")
    ]
    assert "://" not in page.text


def test_the_example_of_a_batch_is_valid(service: Service) -> None:
    document = msgspec.json.decode(service.origin.get("docs/openapi.json").content)
    [example] = document["components"]["schemas"]["batch-parts"]["examples"]

    [part] = multipart(service.client, example.encode())

    assert part.status == 200
    assert msgspec.json.decode(part.body)["value"] is not None
