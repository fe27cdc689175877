"""All measurements. Each runs once in a round, its two sides one after the other."""

import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from urllib.parse import quote

import floor
import msgspec
from company import CONTACTS, CUSTOMERS, PRICES, Measured, copied
from figures import Comparison, Figure, Single
from large import Large
from on_postgres import OnPostgres
from own_postgres import OwnPostgres
from processes import Cores, Server, on_core, program_beside, python_command, running
from querying import Querying
from searching import Searching
from wrk import Run, Scenario, Wrk

from comptoir.config import Settings

HERE = Path(__file__).parent
CONNECTIONS = 16
PAGE_CLIENTS = 4
PAGE = 1_000
BATCH = 100
BATCH_CLIENTS = 4


@dataclass(frozen=True, slots=True)
class Scenarios:
    """The requests of the clients."""

    read: Scenario
    price: Scenario
    price_again: Scenario
    update: Scenario
    pages: Scenario
    create: Scenario
    read_batch: Scenario
    create_batch: Scenario


def scenarios(measured: Measured, folder: Path) -> Scenarios:
    """The scenarios of a company; writes their paths to files in `folder`."""
    headers = {"Authorization": f"Bearer {measured.token}"}
    paging = headers | {"Prefer": f"odata.maxpagesize={PAGE}"}
    writing = headers | {"Content-Type": "application/json", "If-Match": "*"}

    def paths(name: str, found: Sequence[str]) -> Path:
        path = folder / name
        path.write_text("".join(f"{measured.path}/{each}\n" for each in found), encoding="ascii")
        return path

    def prices(items: Sequence[str]) -> list[str]:
        filters = [f"assetType eq 'Item' and assetNumber eq '{item}'" for item in items]
        return [f"{PRICES}?$filter={quote(each)}" for each in filters]

    customers = paths("customers", [f"{CUSTOMERS}({key})" for key in measured.customers])
    contacts = paths("contacts", [f"{CONTACTS}({key})" for key in measured.contacts])
    return Scenarios(
        Scenario("read a customer", customers, headers),
        Scenario("filter prices", paths("prices", prices(measured.priced)), headers),
        Scenario(
            "filter prices again", paths("prices-again", prices(measured.priced[:50])), headers
        ),
        # a new value each time, because an update without a difference changes nothing
        Scenario("update a contact", contacts, writing, f'{{"addressLine2":"{token_hex(4)} %d"}}'),
        Scenario("page of contacts", paths("pages", [CONTACTS]), paging),
        *_batches(measured, folder, headers | {"Content-Type": "application/json"}),
    )


def _data(settings: Settings) -> list[str]:
    """The options of `serve` for a database and its keys."""
    return ["--keys", settings.keys, "--database", settings.database]


def _batches(measured: Measured, folder: Path, headers: Mapping[str, str]) -> Iterator[Scenario]:
    """A single create, a batch of reads and a batch of creates."""
    create = {"method": "POST", "url": CONTACTS, "body": {"displayName": "Batch"}}
    reads = [{"method": "GET", "url": f"{CUSTOMERS}({key})"} for key in measured.customers[:BATCH]]

    def scenario(name: str, path: str, content: object) -> Scenario:
        file = folder / name.replace(" ", "-")
        file.write_text(f"{path}\n", encoding="ascii")
        return Scenario(name, file, headers, msgspec.json.encode(content).decode(), "POST")

    def batch(requests: Sequence[Mapping[str, object]]) -> Mapping[str, object]:
        return {"requests": [{"id": f"{at}", **each} for at, each in enumerate(requests)]}

    growing = measured.growing_path
    yield scenario("create a contact", f"{growing}/{CONTACTS}", create["body"])
    yield scenario("batch of reads", f"{measured.path}/$batch", batch(reads))
    yield scenario("batch of creates", f"{growing}/$batch", batch([create] * BATCH))


class Measurements:
    """The servers and their figures. All servers run, but only one has requests at a time."""

    def __init__(
        self,
        measured: Measured,
        folder: Path,
        cores: Cores,
        seconds: float,
        postgres: OwnPostgres | None,
        *,
        searches: bool,
    ) -> None:
        self._stack = ExitStack()
        self._measured = measured
        self._folder = folder
        self._cores = cores
        self._seconds = seconds
        self._wrk = Wrk(cores.load)
        self._scenarios = scenarios(measured, folder)
        self._shares: list[float] = []
        held = self._scenarios
        against = "µs, the floor"
        self._floors = {
            held.read.name: Comparison("read a customer by id", "µs", against, 3.45, prototype=2.3),
            held.price.name: Comparison(
                "price filter, 5 rows, new", "µs", against, 4.5, prototype=3
            ),
            held.price_again.name: Comparison(
                "price filter, 5 rows, seen before", "µs", against, 4.5, prototype=3
            ),
            held.update.name: Comparison("durable update", "µs", against, 7.05, prototype=4.7),
        }
        self._group = Comparison(
            "updates committed in groups", "/s", "/s, each alone", at_least=2.2 / 1.5, prototype=2.2
        )
        self._waits = {
            count: Comparison(
                f"p50 beside {PAGE_CLIENTS} page clients, {count} conn.", "µs", "µs, alone", 8
            )
            for count in (1, CONNECTIONS)
        }
        self._pages = Comparison("pages of 1,000 beside point reads", "/s", "/s, alone")
        self._record = Single("CPU per record of a page", "µs")
        self._read_batch = Comparison(f"a read in a batch of {BATCH}", "µs", "µs, alone", at_most=1)
        self._create_batch = Comparison(
            f"a create in a batch of {BATCH}", "µs", "µs, alone", at_most=1
        )
        self._load = Comparison("load 20,000 customers", "s", "s, bare driver", 5)
        self._large = Large.prepared(folder)
        token = measured.token
        self._searching = Searching(self._large, token, folder, cores, seconds)
        self._querying = Querying(self._large, token, folder, cores, seconds)
        self._on_postgres = None
        if postgres is not None:
            self._on_postgres = OnPostgres(
                postgres, measured, self._large, cores, seconds, searches=searches
            )

    def __enter__(self) -> "Measurements":
        """Start the servers, which stop at the end of the block."""
        core, settings = self._cores.server, self._measured.settings
        comptoir = program_beside("comptoir")
        options = ["serve", "--port", "0", "--host", "127.0.0.1"]
        plain = [comptoir, *options, *_data(settings)]
        copy = copied(settings, self._folder)
        alone = python_command(HERE / "each_alone.py", *options, *_data(copy))
        self._service = self._start("the service", plain, core)
        self._alone = self._start("the service, each write alone", alone, core)
        self._asked = self._large.serve(self._stack, self._cores)
        self._querying.start(self._stack, self._asked)
        self._bare = {}
        held = self._scenarios
        for scenario in (held.read, held.price, held.price_again, held.update):
            answer = floor.record(self._service.url, scenario)
            path = answer.keep(self._folder / f"{scenario.paths.name}.answer")
            command = python_command(HERE / "floor.py", str(path))
            self._bare[scenario.name] = self._start(f"the floor of {scenario.name}", command, core)
        if self._on_postgres is not None:
            self._on_postgres.start(self._stack)
        return self

    def __exit__(self, *_: object) -> None:
        """Stop the servers."""
        self._stack.close()

    def _start(self, name: str, command: Sequence[str], core: int) -> Server:
        return self._stack.enter_context(running(name, command, core))

    @property
    def figures(self) -> list[Figure]:
        """All figures, in the order of the table."""
        return [
            *self._floors.values(),
            self._group,
            *self._waits.values(),
            self._pages,
            self._record,
            self._read_batch,
            self._create_batch,
            self._load,
            *self._querying.figures,
            *self._searching.figures,
            *([] if self._on_postgres is None else self._on_postgres.figures),
        ]

    @property
    def notes(self) -> list[str]:
        """What was not measured, and why."""
        return self._querying.notes + ([] if self._on_postgres is None else self._on_postgres.notes)

    @property
    def shares(self) -> list[float]:
        """The share of its core that the server under load used in each run; at most 1."""
        return self._shares

    def warm_up(self) -> None:
        """Send each scenario to every server for a second, without measuring."""
        held = self._scenarios
        for scenario in (held.read, held.price, held.price_again, held.update):
            self._wrk.run(self._bare[scenario.name], scenario, CONNECTIONS, 1)
            self._wrk.run(self._service, scenario, CONNECTIONS, 1)
        self._wrk.run(self._alone, held.update, CONNECTIONS, 1)
        if self._on_postgres is not None:
            self._on_postgres.warm_up((held.read, held.price, held.update))
        self._shares.clear()

    def round(self) -> Iterator[str]:
        """Measure everything once; yields the name of each part before it starts."""
        held = self._scenarios
        for scenario in (held.read, held.price, held.price_again):
            yield scenario.name
            self._against_floor(scenario)
        yield held.update.name
        grouped = self._against_floor(held.update)
        alone = self._run(self._alone, held.update)
        self._group.add(grouped.rate, alone.rate)
        yield "reads beside pages"
        self._beside_pages()
        yield "batches"
        self._batched()
        yield "querying"
        self._querying.measure(self._asked)
        yield "searching"
        self._searching.measure(self._asked)
        yield "loading"
        seconds = self._loading()
        if self._on_postgres is not None:
            yield from self._beside(self._on_postgres, seconds)

    def _against_floor(self, scenario: Scenario) -> Run:
        bare = self._run(self._bare[scenario.name], scenario)
        run = self._run(self._service, scenario)
        self._floors[scenario.name].add(run.cpu, bare.cpu)
        return run

    def _run(self, server: Server, scenario: Scenario, connections: int = CONNECTIONS) -> Run:
        run = self._wrk.run(server, scenario, connections, self._seconds)
        self._shares.append(run.share)
        return run

    def _beside_pages(self) -> None:
        held, service = self._scenarios, self._service
        pages = self._run(service, held.pages, PAGE_CLIENTS)
        self._record.add(pages.cpu / PAGE)
        for connections, wait in self._waits.items():
            alone = self._wrk.run(service, held.read, connections, self._seconds)
            with self._wrk.beside(service, held.pages, PAGE_CLIENTS) as rates:
                beside = self._wrk.run(service, held.read, connections, self._seconds)
            wait.add(beside.p50, alone.p50)
            if connections == CONNECTIONS:
                self._pages.add(rates[0], pages.rate)

    def _batched(self) -> None:
        held, service = self._scenarios, self._service
        for batch, alone, figure in (
            (held.read_batch, held.read, self._read_batch),
            (held.create_batch, held.create, self._create_batch),
        ):
            in_batch = self._run(service, batch, BATCH_CLIENTS)
            figure.add(in_batch.cpu / BATCH, self._run(service, alone).cpu)

    def _beside(self, on_postgres: OnPostgres, loading: float) -> Iterator[str]:
        """Measure PostgreSQL beside SQLite, with the CPU seconds that loading took on SQLite."""
        held = self._scenarios
        yield "reads on PostgreSQL"
        on_postgres.measure_reads(self._service, held.read)
        yield "updates on PostgreSQL"
        on_postgres.measure_updates(self._service, held.update)
        yield "PostgreSQL beside SQLite"
        on_postgres.measure_short("price filter, 5 rows, new,", self._service, held.price)
        many = f"{len(self._large.contacts):,} contacts"
        if on_postgres.searches:
            on_postgres.measure_short(f"search {many}", self._asked, self._searching.by_index)
        for what, name in (("page of 1,000 contacts", "page"), (f"$count of {many}", "count")):
            on_postgres.measure_long(what, self._asked, self._querying.scenario(name))
        yield "loading into PostgreSQL"
        on_postgres.measure_loading(loading)

    def _loading(self) -> float:
        """Measure loading into SQLite; returns the service's CPU seconds."""
        seconds = []
        for way in ("service", "driver"):
            command = python_command(
                HERE / "loading.py", way, str(self._folder), str(self._measured.files[CUSTOMERS])
            )
            pinned = on_core(self._cores.server, command)
            output = subprocess.run(pinned, stdout=subprocess.PIPE, text=True, check=True).stdout
            seconds.append(float(output))
        self._load.add(*seconds)
        return seconds[0]
