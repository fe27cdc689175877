"""The page `/docs` asks the service that it came from, whatever the address in the settings.

The page is the same whatever the database.
"""

from pathlib import Path

import msgspec

from support.databases import ON_SQLITE
from support.programs import node
from support.server import Server

pytestmark = ON_SQLITE

SCRIPT = Path(__file__).with_name("docs_page.mjs")


def test_the_page_asks_where_it_came_from(server: Server) -> None:
    """The browser lets it ask no other address; the document names that of the settings first."""
    origin = server.base_url.removesuffix("/api").replace("127.0.0.1", "localhost")

    printed = node().run(SCRIPT, f"{origin}/docs")

    chosen, other = msgspec.json.decode(printed, type=list[str])
    assert chosen == f"{origin}/api"
    assert other == server.base_url
