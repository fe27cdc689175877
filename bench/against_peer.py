"""The service beside the peer: pages, an export, reads and updates over the same records."""

from collections.abc import Sequence
from functools import partial

import msgspec
from calls import Page, body_of, cpu_of_each, walk
from company import database_file
from figures import Comparison, Figure
from peer.fill import ETAG
from processes import Server
from scenarios import PAGE
from workbench import CONNECTIONS, Workbench
from wrk import LoadError, Scenario

_WARM_UP_SECONDS = 0.2


class AgainstPeer:
    """Measures the CPU of the service and of the peer."""

    notes: Sequence[str] = ()

    def __init__(self, bench: Workbench) -> None:
        self._bench = bench
        self._servers = (bench.partners_service, bench.peer)
        for scenario in (
            *bench.partner_scenarios.pages.values(),
            bench.partner_scenarios.customers,
        ):
            if _records(self._servers[0], scenario) != _records(self._servers[1], scenario):
                raise LoadError(f"{scenario.name}: the peer sends other records than the service.")
        beside_peer = partial(Comparison, against="the peer", guarded=True)
        self._pages = {
            size: beside_peer(
                f"page of {size:,} contacts", "µs", at_most=1 / 15 if size == PAGE else None
            )
            for size in bench.partner_scenarios.pages
        }
        self._export = beside_peer("export of 50,000 customers, a row", "µs", limit=3)
        # 2.2 times the service's own database without kept bodies, which is 1.28 times the peer's
        self._size = beside_peer("size on disk, 150,000 records", "MB", at_most=2.2 * 1.28)
        files = (database_file(bench.partners.settings), bench.peer_file)
        self._size.add(*(each.stat().st_size / 1e6 for each in files))
        asked = bench.partner_scenarios
        self._short: Sequence[tuple[Scenario, int, Comparison]] = [
            (scenario, count, beside_peer(f"{name}, {count} conn.", "µs", limit=limit))
            for scenario, name, count, limit in (
                (asked.read, "read a customer by id", CONNECTIONS, 80),
                (asked.read, "read a customer by id", 1, 120),
                (asked.update, "durable update", 1, 350),
            )
        ]

    @property
    def figures(self) -> Sequence[Figure]:
        """All figures, in the order of the table."""
        short = [figure for *_, figure in self._short]
        return [*self._pages.values(), self._export, *short, self._size]

    def warm_up(self) -> None:
        """Send each request for a moment."""
        asked = self._bench.partner_scenarios
        for scenario in (*asked.pages.values(), asked.customers):
            cpu_of_each(self._servers, scenario, _WARM_UP_SECONDS)
        for server in self._servers:
            for scenario, *_ in self._short[1:]:
                self._bench.wrk.run(server, scenario, 1, 1)

    def measure(self) -> None:
        """Measure everything once."""
        bench, asked = self._bench, self._bench.partner_scenarios
        for size, page in asked.pages.items():
            self._pages[size].add(*cpu_of_each(self._servers, page, bench.seconds / 3))
        self._export.add(*(_export_cpu(server, asked.customers) for server in self._servers))
        for scenario, count, figure in self._short:
            figure.add(*(bench.run(each, scenario, count).cpu for each in self._servers))


def _records(server: Server, scenario: Scenario) -> list[dict[str, object]]:
    """The records of a page, without their ETags, whose form is each server's own."""
    page = msgspec.json.decode(body_of(server, scenario), type=Page)
    records = [msgspec.json.decode(each, type=dict[str, object]) for each in page.value]
    return [{name: each[name] for name in each if name != ETAG} for each in records]


def _export_cpu(server: Server, scenario: Scenario) -> float:
    """The CPU of a row of all pages in µs."""
    before = server.total_seconds
    rows = sum(len(page.value) for page in walk(server, scenario))
    return (server.total_seconds - before) / rows * 1e6
