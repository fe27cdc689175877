"""Companies with what they contain are sent one after another, and not kept in memory."""

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from process.conftest import StartServer
from support.companies import Company
from support.server import Server

NAMES = 500
LENGTH = 4_000
FEW, MANY = 2, 22


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux tells what is held")
def test_memory_does_not_grow_with_the_number_of_companies(start_server: StartServer) -> None:
    server = start_server()
    companies = [server.new_company() for _ in range(MANY)]
    for company in companies:
        rows = ({"code": f"{number}", "name": "n" * LENGTH} for number in range(NAMES))
        company.load("shippingAgentsExt", *rows)

    # the first one fills the caches of pages
    _, few, many = (peak(server, some) for some in (companies, companies[:FEW], companies))

    assert many - few < NAMES * LENGTH * (MANY - FEW) // 2


def peak(server: Server, companies: list[Company]) -> int:
    """The most memory of its own that the server holds while it answers, in bytes."""
    client = server.client.using(server.tokens.issue(companies=[each.id for each in companies]))

    def expanded() -> httpx.Response:
        return client.get("companies", "$expand=shippingAgentsExt")

    most = 0
    with ThreadPoolExecutor(1) as beside:
        asking = beside.submit(expanded)
        ended = False
        while not ended:
            # looks once after the end, if a busy machine lets it begin only then
            ended = asking.done()
            most = max(most, held(server))
    found = asking.result().json()["value"]
    assert [len(each["shippingAgentsExt"]) for each in found] == [NAMES] * len(companies)
    return most


def held(server: Server) -> int:
    status = Path(f"/proc/{server.pid}/status").read_text()
    found = re.search(r"RssAnon:\s+(\d+) kB", status)
    assert found is not None
    return int(found[1]) * 1_024
