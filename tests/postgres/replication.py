"""A server with a standby, and a service that reads from it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Self

import httpx

from comptoir.catalog import MODEL
from comptoir.config import Settings
from comptoir.store.migration import migrate
from support.client import record
from support.companies import Company
from support.postgres import Postgres
from support.service import Service
from support.standby import Standby

AGENT = {"code": "DHL", "name": "old"}
"""A record that the replica has; tests rename it on the primary."""


@dataclass(frozen=True)
class Pair:
    """A server and its standby."""

    primary: Postgres
    standby: Standby

    def new_database(self) -> str:
        """The URL of a new database that has the current schema, on both."""
        url = self.primary.new_database(self.primary.once("migrated", _migrate))
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
    path: str

    @classmethod
    def on(cls, pair: Pair, serve: Callable[..., Service], **settings: float) -> Self:
        """Create them on a new database."""
        url = pair.new_database()
        service = serve(url, read_database=pair.standby.url_of(url), **settings)
        company = service.new_company()
        created = record(company.post("shippingAgentsExt", AGENT), 201)
        pair.standby.catch_up()
        return cls(service, company, pair.standby, f"shippingAgentsExt({created['id']})")

    def rename(self, name: str) -> httpx.Response:
        return self.company.patch(self.path, {"name": name}, if_match="*")

    def name(self, headers: Mapping[str, str] | None = None) -> str:
        response = self.company.get(self.path, headers=headers)
        return str(record(response)["name"])

    def expanded(self, headers: Mapping[str, str] | None = None) -> str:
        """The record's name as `$expand` of its company shows it."""
        response = self.company.get("", "$expand=shippingAgentsExt", headers)
        assert response.status_code == 200, response.text
        [agent] = response.json()["shippingAgentsExt"]
        return str(agent["name"])


def _migrate(url: str) -> None:
    migrate(Settings(database=url), MODEL)
