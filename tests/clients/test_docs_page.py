"""What the page `/docs` makes of the OpenAPI document.

The page is the same whatever the database.
"""

from pathlib import Path

import msgspec
import pytest

from support.databases import ON_SQLITE
from support.programs import node
from support.server import Server

pytestmark = ON_SQLITE

SCRIPT = Path(__file__).with_name("docs_page.mjs")


class Shown(msgspec.Struct, rename="camel"):
    """The addresses that the page uses, and the parameters of two operations."""

    servers: list[str]
    token_url: str
    listing: list[str]
    update: list[str]


@pytest.fixture(scope="module")
def origin(server: Server) -> str:
    """Another name of the service than that in its settings."""
    return server.base_url.removesuffix("/api").replace("127.0.0.1", "localhost")


@pytest.fixture(scope="module")
def shown(origin: str) -> Shown:
    return msgspec.json.decode(node().run(SCRIPT, f"{origin}/docs"), type=Shown)


def test_the_page_asks_where_it_came_from(server: Server, origin: str, shown: Shown) -> None:
    """The browser lets it ask no other address; the document names that of the settings first."""
    assert shown.servers == [f"{origin}/api", server.base_url]
    assert shown.token_url == f"{origin}/comptoir/oauth2/v2.0/token"


def test_the_parameters_are_in_the_order_that_readers_need(shown: Shown) -> None:
    """Keys, then query options, then headers; the document lists keys apart from the others."""
    assert " ".join(shown.listing) == (
        "company_id $filter $select $orderby $top $expand $search $count $skip $compute $apply "
        "$format Prefer OData-MaxVersion Data-Access-Intent Consistency-Token"
    )
    assert shown.update[:3] == ["company_id", "id", "If-Match"]
