"""The text index while processes write, catch up at the same time, and are killed."""

import signal
from collections.abc import Iterable
from dataclasses import replace

from comptoir.store.text_index import TOLERATED_LAG
from process.conftest import StartServer
from support.companies import Company
from support.server import Server
from support.waiting import until
from support.worker_connections import WorkerConnections

COUNT = 900
MANY = 12 * COUNT
"""Records that are indexed for longer than a process takes to stop."""

AGENTS = "shippingAgentsExt"


def load(company: Company, name: str, numbers: Iterable[int]) -> None:
    """Agents whose names hold their numbers, in words that no other agent has."""
    rows = [{"code": f"{number}", "name": f"{name}-{number:05}-end"} for number in numbers]
    company.load(AGENTS, *rows)


def check(company: Company, name: str, numbers: Iterable[int]) -> None:
    """Each agent is found by what its name is now, and by that alone."""
    for number in numbers:
        [found] = company.listed(AGENTS, {"$search": f"{name}-{number:05}-end"})
        assert found["code"] == f"{number}"
    assert int(company.get(f"{AGENTS}/$count", {"$search": name}).text.lstrip("\ufeff")) == COUNT


def test_an_index_survives_a_kill_while_it_catches_up(start_server: StartServer) -> None:
    """Its mark and its content agree, so what was found before is found after."""
    server = start_server()
    company = server.new_company()
    load(company, "old", range(COUNT))
    check(company, "old", [0])
    until(lambda: company.search_lag(AGENTS) < COUNT or None, "an index that catches up")
    server.kill()

    server.start()

    company = server.again(company)
    check(company, "old", range(0, COUNT, 100))
    until(lambda: _caught_up(company, "old"), "an index that has caught up")
    company.catch_up(AGENTS)
    check(company, "old", range(0, COUNT, 100))


def test_records_are_indexed_before_anybody_searches(two: Server) -> None:
    """One of the processes indexes them, and then the sets that changed little."""
    company = two.new_company()
    load(company, "old", range(COUNT))
    company.load("unitsOfMeasureExt", {"code": "few"})
    until(lambda: company.search_lag(AGENTS) <= TOLERATED_LAG or None, "an index of agents")
    until(lambda: company.search_lag("unitsOfMeasureExt") <= TOLERATED_LAG or None, "one of units")
    check(company, "old", range(0, COUNT, 100))


def test_two_processes_catch_up_beside_writers(two: Server) -> None:
    """Searches are exact all the while, and the index is when it has caught up."""
    company = two.new_company()
    load(company, "old", range(COUNT))
    with WorkerConnections(two, 4) as carrier:
        spread = replace(company, carrier=carrier)
        check(spread, "old", range(0, COUNT, 500))
        for start in range(0, COUNT, 300):
            load(company, "new", range(start, start + 300))
            [old, new] = [
                int(spread.get(f"{AGENTS}/$count", {"$search": name}).text.lstrip("\ufeff"))
                for name in ("old", "new")
            ]
            assert (old, new) == (COUNT - start - 300, start + 300)

        until(lambda: _caught_up(spread, "new"), "an index that has caught up")
        check(spread, "new", range(0, COUNT, 50))
        assert spread.listed(AGENTS, {"$search": "old"}) == []


def _caught_up(company: Company, name: str) -> bool | None:
    """Whether no search starts to index: the last changes are compared without the index."""
    assert company.listed(AGENTS, {"$search": f"{name}-00000-end"})
    return company.search_lag(AGENTS) <= TOLERATED_LAG or None


def test_a_stop_does_not_wait_for_the_index(start_server: StartServer) -> None:
    server = start_server()

    def lag_after_a_stop() -> int | None:
        company = server.new_company()
        load(company, "old", range(MANY))
        assert company.listed(AGENTS, {"$search": "old-00000"})
        until(lambda: company.search_lag(AGENTS) < MANY or None, "an index that catches up")
        server.ask_to_stop()
        assert server.wait() == -signal.SIGTERM
        if lag := company.search_lag(AGENTS):
            return lag
        # the index was complete before the stop
        server.start()
        return None

    until(lag_after_a_stop, "a stop while an index catches up")
