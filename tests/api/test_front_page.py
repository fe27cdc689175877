"""The pages `/`, under each profile, and `/docs`; the corpus has their headers, and the JSON."""

import re
from urllib.parse import urlsplit

import msgspec
import pytest

from comptoir.config import PROFILES
from comptoir.http.routes import profile_addresses
from support.batches import multipart
from support.client import Client
from support.databases import ON_SQLITE
from support.service import Service, StartService

pytestmark = ON_SQLITE  # nothing of this is up to the database

BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8"


@pytest.fixture(scope="module", params=sorted(PROFILES))
def each(request: pytest.FixtureRequest, share_service: StartService) -> Service:
    """A service under each profile."""
    return share_service(profile=request.param)


def test_a_browser_gets_a_page_whose_links_work(each: Service) -> None:
    front = each.origin.get("", headers={"Accept": BROWSER})
    assert front.status_code == 200
    assert front.headers["content-type"] == "text/html; charset=utf-8"
    assert front.text.count("<h1>") == 1
    assert "<script" not in front.text
    assert "style=" not in front.text
    links = re.findall(r'href="([^"]+)"', front.text)
    roots = [urlsplit(url).path[1:] for url in profile_addresses(each.settings).values()]
    assert bool(roots) == (each.settings.profile == "business-central")
    assert links == ["data:,", "front.css", "console", "docs", "api", "api/$metadata", *roots]
    assert each.origin.get("front.css").headers["content-type"] == "text/css; charset=utf-8"
    assert each.origin.get("docs").status_code == 200
    for path in ("api", "api/$metadata", *roots):
        assert each.origin.get(path).status_code == 401
        assert each.origin.using(each.tokens.issue()).get(path).status_code == 200


def test_the_addresses_that_clients_see_are_linked(start_service: StartService) -> None:
    public = 'https://erp.example.com/a"b/api'
    service = start_service(public_url=public)
    proxied = Client(service, "https://erp.example.com/", "")
    front = proxied.get("", headers={"Accept": BROWSER})
    assert 'href="https://erp.example.com/a&quot;b/api"' in front.text
    # it is not served where others could read its cookies
    assert "console" not in front.text


def test_the_page_of_the_documentation_loads_its_files_from_the_service(service: Service) -> None:
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
