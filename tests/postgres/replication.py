"""A server with a standby, and a service that reads from it."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Self

import httpx

from support.client import record
from support.companies import Company
from support.databases import migrated
from support.postgres import Postgres
from support.replicas import outcomes
from support.service import Service
from support.standby import Standby

AGENTS = "shippingAgentsExt"
AGENT = {"code": "DHL", "name": "old"}
"""A record that the replica has; tests rename it on the primary."""


@dataclass(frozen=True)
class Pair:
    """A server and its standby."""

    primary: Postgres
    standby: Standby

    def new_database(self) -> str:
        """The URL of a new database that has the current schema, on both."""
        url = migrated(self.primary)
        self.standby.catch_up()
        return url

    def repair(self) -> None:
        """Start the standby and resume its replay."""
        if not self.standby.is_running:
            self.standby.start()
        self.standby.resume()


@dataclass(frozen=True)
class ReplicatedService:
    """A service with a replica, a company, and the path of a record that the replica has."""

    service: Service
    company: Company
    standby: Standby
    agents: str
    """The set of the record."""

    path: str
    before: Mapping[str, int]
    """The outcomes of all reads before it."""

    @classmethod
    def on(cls, pair: Pair, serve: Callable[..., Service], **settings: float) -> Self:
        """Create them on a new database."""
        url = pair.new_database()
        return cls.of(serve(url, read_database=pair.standby.url_of(url), **settings), pair.standby)

    @classmethod
    def of(cls, service: Service, standby: Standby, agents: str = AGENTS) -> Self:
        """Create a company of a service."""
        company = service.new_company()
        created = record(company.post(agents, AGENT), 201)
        standby.catch_up()
        return cls(
            service, company, standby, agents, f"{agents}({created['id']})", outcomes(service)
        )

    def outcomes(self) -> Mapping[str, int]:
        """The outcomes of the reads of its company, with their numbers."""
        return Counter(outcomes(self.service)) - Counter(self.before)

    def rename(self, name: str) -> httpx.Response:
        return self.company.patch(self.path, {"name": name}, if_match="*")

    def name(self, headers: Mapping[str, str] | None = None) -> str:
        response = self.company.get(self.path, headers=headers)
        return str(record(response)["name"])

    def expanded(self, headers: Mapping[str, str] | None = None) -> str:
        """The record's name as `$expand` of its company shows it."""
        response = self.company.get("", f"$expand={self.agents}", headers)
        assert response.status_code == 200, response.text
        [agent] = response.json()[self.agents]
        return str(agent["name"])
