"""Creates companies and loads records in the database of a service."""

import asyncio
import sys
import time
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import TypeVar
from uuid import uuid4

import msgspec

from comptoir.app import open_store
from comptoir.catalog import MODEL
from comptoir.config import Settings
from comptoir.edm.model import Company as StoredCompany
from comptoir.edm.model import Model
from comptoir.features.history.feature import trim_logs
from comptoir.features.transfer.load_rows import (
    LoadPlan,
    LoadRows,
    bind_columns,
    load_steps,
    rows_done,
)
from comptoir.sql.prepared import Steps
from comptoir.store.company_steps import rename_company
from comptoir.store.control import ControlStore
from comptoir.store.ledger import Change
from comptoir.store.store import Store
from comptoir.store.unit import UnitOfWork
from support.client import Client

T = TypeVar("T")
Cell = str | int | bool | float | Decimal
Row = Mapping[str, Cell]


class CompanyAdmin:
    """A second store over the database of a service, on the event loop of the tests."""

    def __init__(self, settings: Settings, runner: asyncio.Runner, model: Model = MODEL) -> None:
        self.settings = settings
        self._model = model
        self._runner = runner
        self._store = self.wait(_opened(settings, model))

    @property
    def control(self) -> ControlStore:
        """The clients and roles of the database."""
        return self._store.control

    def wait(self, work: Coroutine[object, None, T]) -> T:
        return self._runner.get_loop().run_until_complete(work)

    def add_company(self, client: Client, name: str | None = None) -> "Company":
        """A new company with a name that no other has, for requests by a client at the base URL."""
        company_id = str(uuid4())
        named = name or f"Test & Söhne {company_id}"
        stored = self.wait(self._store.create_company(company_id, named))
        root = f"{client.root}/companies({stored.id})"
        return Company(client.carrier, root, client.token, stored, self)

    def rename(self, company: StoredCompany, name: str) -> None:
        """Give a company another name."""
        self.wait(rename_company(self._store, company.id, name, "tests"))

    def load(self, company: StoredCompany, resource: str, rows: Sequence[Row]) -> None:
        """Load records with the same properties, by the code of `comptoir load`."""
        self.load_all(company, {resource: rows})

    def load_all(self, company: StoredCompany, samples: Mapping[str, Sequence[Row]]) -> None:
        """Load records of several entity sets in one transaction."""
        plans = [self.plan(company, resource, rows) for resource, rows in samples.items()]

        def loads(unit: UnitOfWork) -> Steps[None]:
            for plan in plans:
                yield from load_steps(plan, unit)

        self.wait(self._store.transact(company.id, loads))

    def begin_load(self, company: StoredCompany, resource: str, rows: Sequence[Row]) -> str:
        """Load the first records of a file, as an interrupted load does; returns its digest."""
        plan = msgspec.structs.replace(self.plan(company, resource, rows), finishes=False)
        self.wait(self._store.transact(company.id, partial(load_steps, plan)))
        return plan.digest

    def load_progress(self, company: StoredCompany, resource: str, digest: str) -> int:
        """The number of records of a file that are loaded."""
        entity_set = self._model.by_name[resource]
        return self.wait(rows_done(self._store, company, entity_set, digest))

    def plan(self, company: StoredCompany, resource: str, rows: Sequence[Row]) -> LoadPlan:
        """The unit of work that loads records."""
        entity_set = self._model.by_name[resource]
        columns = bind_columns(entity_set, list(rows[0]))
        by_column = [
            [each.type.from_json(exact(row[each.name])) for row in rows]
            for each in columns.properties
        ]
        part = LoadRows(columns, range(1, len(rows) + 1), by_column)
        digest, by = uuid4().hex, "tests"
        return LoadPlan(company, entity_set, [part], by, digest, len(rows), finishes=True)

    def known(self, company_id: str) -> StoredCompany:
        """A company that exists, with its incarnation."""
        found = self.wait(self._store.company(company_id))
        assert found is not None
        return found

    def changes(self, company: StoredCompany, after: int = 0) -> list[Change]:
        """The change log of a company after a number; the whole one by default."""
        return self.wait(self._store.changes(company, after, 1_000_000))

    def catch_up(self, company: StoredCompany, resource: str) -> None:
        """Bring the text index of a set up to date."""
        entity_set = self._model.by_name[resource]
        # a service that indexes it too, ends the other
        self.wait(self._store.index(company.id, entity_set, sys.maxsize))
        while self.wait(self._store.search_lags(company.id)).get(resource):
            self.wait(self._store.index(company.id, entity_set, sys.maxsize))

    def search_lag(self, company: StoredCompany, resource: str) -> int:
        """The number of changes that the text index of a set with records lacks."""
        return self.wait(self._store.search_lags(company.id))[resource]

    def index_lagging(self) -> None:
        """Index what a service indexes in the background."""
        self.wait(self._store.index_lagging())

    def trim_logs(self, later_days: float = 0.0, **settings: float) -> None:
        """Trim all logs as a service with these settings does in the background some days later."""
        chosen = msgspec.structs.replace(self.settings, **settings)
        self.wait(trim_logs(self._store, chosen, lambda: time.time() + later_days * 86_400))

    def renew(self, company: StoredCompany) -> None:
        """End all links and ETags of a company, as after a restore."""
        self.wait(self._store.renew(company.id))

    def close(self) -> None:
        self.wait(self._store.close())


@dataclass(frozen=True)
class Company(Client):
    """A client at a company's address, with access to the store."""

    stored: StoredCompany
    admin: CompanyAdmin

    @property
    def id(self) -> str:
        return self.stored.id

    def load(self, resource: str, *rows: Row) -> None:
        self.admin.load(self.stored, resource, rows)

    def changes(self, after: int = 0) -> list[Change]:
        return self.admin.changes(self.stored, after)

    def catch_up(self, resource: str) -> None:
        self.admin.catch_up(self.stored, resource)

    def search_lag(self, resource: str) -> int:
        return self.admin.search_lag(self.stored, resource)


async def _opened(settings: Settings, model: Model) -> Store:
    return open_store(settings, model, is_ready=True)


def exact(cell: Cell) -> str | int | bool | Decimal:
    """A cell as the service decodes it: without binary floats."""
    return Decimal(repr(cell)) if isinstance(cell, float) else cell
