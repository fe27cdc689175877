"""What all measurements share: the cores, the load, the companies and their services.

Companies are loaded and services are started when a measurement first uses them, so a run of some
measurements prepares only what these need.
"""

import asyncio
from collections.abc import Sequence
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import Protocol

from company import Measured, prepare, settings_in, token_for, write_files
from figures import Figure
from large import Large
from large_scenarios import LargeScenarios
from own_postgres import OwnPostgres, own_postgres
from partner_scenarios import PartnerScenarios
from partners import Partners
from peer.fill import fill
from processes import Cores, Costly, Server, program_beside, python_command, running
from scenarios import PAGE, Scenarios, scenarios
from wrk import Run, Scenario, Wrk

from comptoir.config import Settings

HERE = Path(__file__).parent
CONNECTIONS = 16


class Part(Protocol):
    """Measurements that run together, once in each round."""

    @property
    def figures(self) -> Sequence[Figure]:
        """The figures, in the order of the table."""

    @property
    def notes(self) -> Sequence[str]:
        """What was not measured, and why."""

    def warm_up(self) -> None:
        """Send requests to every server, without measuring."""

    def measure(self) -> None:
        """Measure everything once."""


class Workbench:
    """All servers run on one core until the end of the run; only one has requests at a time."""

    def __init__(
        self,
        stack: ExitStack,
        build: Path,
        folder: Path,
        cores: Cores,
        seconds: float,
        data: Path | None,
        *,
        quick: bool,
    ) -> None:
        """`build` is the folder of `folder`, which contains everything that this run creates."""
        self.stack = stack
        self.folder = folder
        self.cores = cores
        self.seconds = seconds
        self.quick = quick
        self.wrk = Wrk(cores.load)
        self.shares: list[float] = []
        """The share of its core that the server under load used in each run; at most 1."""
        self._build = build
        self._data = data

    @cached_property
    def headers(self) -> dict[str, str]:
        """The headers of every request to a service."""
        return {"Authorization": f"Bearer {token_for(settings_in(self.folder))}"}

    @cached_property
    def company(self) -> Measured:
        """The company with real records, if they exist."""
        return asyncio.run(prepare(self.folder, write_files(self.folder, self._data)))

    @cached_property
    def service(self) -> Server:
        """The service of `company`."""
        return self.serve("the service", self.company.settings)

    @cached_property
    def scenarios(self) -> Scenarios:
        """The requests for `company`."""
        return scenarios(self.company, self.folder)

    @cached_property
    def partners(self) -> Partners:
        """The company of the pages: 100,000 contacts and 50,000 customers."""
        return asyncio.run(Partners.prepared(self.folder))

    @cached_property
    def partners_service(self) -> Server:
        """The service of `partners`."""
        return self.serve("the service of the pages", self.partners.settings)

    @cached_property
    def partner_scenarios(self) -> PartnerScenarios:
        """The requests for `partners`."""
        return PartnerScenarios(self.partners, self.folder, self.headers)

    @cached_property
    def peer_file(self) -> Path:
        """The database of the peer, with the records of `partners`."""
        file, asked = self.folder / "peer.db", self.partner_scenarios
        company_id, service = self.partners.company.id, self.partners_service
        fill(file, company_id, service, asked.pages[PAGE], asked.customers)
        return file

    @cached_property
    def peer(self) -> Server:
        """The peer."""
        return self.start("the peer", python_command(HERE / "serve_peer.py", str(self.peer_file)))

    @cached_property
    def large(self) -> Large:
        """The company of large queries and searches."""
        return asyncio.run(Large.prepared(self.folder, self.partners))

    @cached_property
    def large_service(self) -> Server:
        """The service of `large`."""
        return self.serve("the service, large", self.large.settings)

    @cached_property
    def large_scenarios(self) -> LargeScenarios:
        """The requests for `large`."""
        return LargeScenarios(self.large, self.folder, self.headers)

    @cached_property
    def postgres(self) -> OwnPostgres:
        """The database server; raises `SetupError` if this machine has no PostgreSQL."""
        return self.stack.enter_context(own_postgres(self._build, self.cores))

    def serve(self, name: str, settings: Settings, database: Costly | None = None) -> Server:
        """Start a service of a database."""
        command = [program_beside("comptoir"), *serving(settings)]
        return self.start(name, command, database)

    def start(self, name: str, command: Sequence[str], database: Costly | None = None) -> Server:
        """Start a server on its core, which stops at the end of the run."""
        return self.stack.enter_context(running(name, command, self.cores.server, database))

    def run(self, server: Server, scenario: Scenario, connections: int = CONNECTIONS) -> Run:
        """Send the requests of a scenario for the time of a run."""
        run = self.wrk.run(server, scenario, connections, self.seconds)
        self.shares.append(run.share)
        return run


def serving(settings: Settings) -> list[str]:
    """The arguments of `comptoir` that serve a database on a free port."""
    address = ["serve", "--port", "0", "--host", "127.0.0.1"]
    return [*address, "--keys", settings.keys, "--database", settings.database]
