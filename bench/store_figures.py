"""The figures of the service on PostgreSQL, and their comparisons."""

from figures import Comparison, Figure, Single
from pgbench import CLIENTS, PgbenchRun
from point_select import RoundTrip
from wrk import Run

ON = "on PostgreSQL"


class ReadFigures:
    """The cost of a read by id, compared with twice its cost on SQLite and a round trip.

    The round trip is that of the bare driver: its CPU if CPU is compared, otherwise its elapsed
    time.
    """

    def __init__(self) -> None:
        against = "2 x SQLite + round trip"
        self._cpu = Comparison(f"read by id {ON}: CPU of service", "µs", against, at_most=1)
        self._waited = Comparison(f"read by id {ON}: waited, 1 conn.", "µs", against, at_most=1)
        self._stores = Comparison(f"read by id {ON}: CPU of service", "µs", "on SQLite")
        self._database = Comparison(f"read by id {ON}: CPU of database", "µs", "bare asyncpg")
        self._rate = Comparison(f"reads by id {ON}", "/s", f"pgbench -S, {CLIENTS} clients")
        self._bare_rate = Single("point selects by bare asyncpg, 1 conn.", "/s")
        self._bare_cpu = Single("point select by bare asyncpg: CPU of client", "µs")
        self._selects_cpu = Single("point select by pgbench -S: CPU of database", "µs")

    def add(self, many: list[Run], one: list[Run], bare: RoundTrip, selects: PgbenchRun) -> None:
        """Add a round: the runs on PostgreSQL and on SQLite."""
        own, other = many
        self._cpu.add(own.cpu, 2 * other.cpu + bare.client)
        self._stores.add(own.cpu, other.cpu)
        self._database.add(own.database, bare.database)
        self._rate.add(own.rate, selects.rate)
        own, other = one
        self._waited.add(1e6 / own.rate, 2e6 / other.rate + bare.waited)
        self._bare_rate.add(1e6 / bare.waited)
        self._bare_cpu.add(bare.client)
        self._selects_cpu.add(selects.database)

    @property
    def figures(self) -> list[Figure]:
        """The figures in the order of the table."""
        return [
            self._cpu,
            self._waited,
            self._stores,
            self._database,
            self._rate,
            self._bare_rate,
            self._bare_cpu,
            self._selects_cpu,
        ]


class UpdateFigures:
    """The cost and the rate of durable updates on PostgreSQL."""

    def __init__(self, connections: int, companies: int) -> None:
        name = f"updates {ON}, {connections} conn."
        one = f"update {ON}"
        against = f"pgbench, {CLIENTS} clients"
        self._rate = Comparison(name, "/s", against, at_least=0.15)
        self._cpu = Comparison(f"{one}: CPU of service", "µs", "on SQLite")
        self._database = Comparison(f"{one}: CPU of database", "µs", "pgbench")
        self._p50 = Comparison(f"{one}: p50", "µs", "on SQLite")
        self._p99 = Comparison(f"{one}: p99", "µs", "on SQLite")
        several = f"updates {ON}, {companies} companies"
        self._several = Comparison(several, "/s", "one company")
        self._several_cpu = Comparison(f"{several}: CPU of service", "µs", "one company")
        self._several_database = Comparison(f"{several}: CPU of database", "µs", "one company")

    def add(self, own: Run, pgbench: PgbenchRun, several: Run, other: Run) -> None:
        """Add a round: on PostgreSQL, by pgbench, over several companies, on SQLite."""
        self._rate.add(own.rate, pgbench.rate)
        self._cpu.add(own.cpu, other.cpu)
        self._database.add(own.database, pgbench.database)
        self._p50.add(own.p50, other.p50)
        self._p99.add(own.p99, other.p99)
        self._several.add(several.rate, own.rate)
        self._several_cpu.add(several.cpu, own.cpu)
        self._several_database.add(several.database, own.database)

    @property
    def figures(self) -> list[Figure]:
        """The figures in the order of the table."""
        return [
            self._rate,
            self._cpu,
            self._database,
            self._p50,
            self._p99,
            self._several,
            self._several_cpu,
            self._several_database,
        ]
