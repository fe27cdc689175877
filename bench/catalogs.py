"""What catalogs cost: an own set beside one of the interface, and starts with many sets."""

import asyncio
import json
import sqlite3
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from importlib.resources import files
from pathlib import Path
from time import process_time
from urllib.parse import quote

from calls import body_of, cpu_in_turns
from company import CONTACTS, add_company, database_file, load, settings_in, token_for
from figures import Comparison, Figure, Single
from processes import program_beside, running
from scenarios import PAGE, paged, updates
from workbench import CONNECTIONS, Workbench, serving
from wrk import Scenario, scenario

from comptoir.app import open_store
from comptoir.catalog import API_V2, read_catalog
from comptoir.store.migration import migrate

OWN = "ownContacts"
"""A set with the properties, rules and indexes of contacts."""

SETS, PROPERTIES = 161, 20
TYPES = ("String(100)", "String", "Int32", "Decimal(18,5)", "Boolean", "Date", "DateTimeOffset")
MOST_RATIO = 1.03

_READ = 500
_WARM_UP_SECONDS = 0.3


class Catalogs:
    """Measures a set of an own catalog in one database with contacts, and starts."""

    notes: Sequence[str] = ()

    def __init__(self, bench: Workbench) -> None:
        self._bench = bench
        folder = bench.folder / "catalogs"
        folder.mkdir()
        self._settings = settings_in(folder)
        self._model = read_catalog(_own(folder / "own.toml"))
        migrate(self._settings, self._model)
        self._load = _beside("load")
        self._order = [OWN, CONTACTS]
        self._file = bench.company.files[CONTACTS]
        self._company_id, _ = asyncio.run(self._loaded())
        self._server = bench.serve("the service with an own set", self._settings)
        asked = {name: list(self._scenarios(folder, name)) for name in (OWN, CONTACTS)}
        self._requests = [
            (_beside(own.name.partition("-")[2]), own, other)
            for own, other in zip(asked[OWN], asked[CONTACTS], strict=True)
        ]
        many = f"{SETS} sets with {SETS * PROPERTIES} properties"
        self._starts = [
            _Start(bench, many, str(_many(folder / "many.toml")), 1.5, 40),
            _Start(bench, "the API v2.0", API_V2, 1.2, 30),
        ]

    async def _loaded(self) -> tuple[str, Sequence[float]]:
        """Load the same file into both sets of a new company; returns its id, and both costs."""
        store = open_store(self._settings, self._model, writes_many=True)
        company, spent = await add_company(store), dict[str, float]()
        self._order.reverse()
        for name in self._order:
            before = process_time()
            report = await load(store, company, name, self._file)
            spent[name] = (process_time() - before) / report.inserted * 1e6
        await store.close()
        return company.id, [spent[OWN], spent[CONTACTS]]

    def _scenarios(self, folder: Path, name: str) -> Iterator[Scenario]:
        headers = {"Authorization": f"Bearer {token_for(self._settings)}"}
        path = f"{self._settings.base_path}/companies({self._company_id})/{name}"
        with closing(sqlite3.connect(database_file(self._settings))) as connection:
            query = f'SELECT id, number FROM "{name}" ORDER BY id LIMIT {_READ}'
            rows = connection.execute(query).fetchall()
        by_id = [f"{path}({key})" for key, _ in rows]
        filters = [f"{path}?$filter={quote(f'number eq {number!r}')}" for _, number in rows]
        yield scenario(folder / f"{name}-by id", by_id, headers)
        yield scenario(folder / f"{name}-page of 1,000", [path], {**headers, **paged(PAGE)})
        yield scenario(folder / f"{name}-filter", filters, headers)
        yield updates(folder / f"{name}-update", by_id, headers)

    @property
    def figures(self) -> Sequence[Figure]:
        """All figures, in the order of the table."""
        starts = [figure for each in self._starts for figure in (each.first, each.memory)]
        return [*(figure for figure, *_ in self._requests), self._load, *starts]

    def warm_up(self) -> None:
        """Send each request for a moment."""
        for _, *asked in self._requests:
            for each in asked:
                self._bench.wrk.run(self._server, each, CONNECTIONS, _WARM_UP_SECONDS)

    def measure(self) -> None:
        """Measure everything once."""
        for figure, own, other in self._requests:
            if own.body:
                figure.add(*(self._bench.run(self._server, each).cpu for each in (own, other)))
            else:
                asked = [(self._server, each) for each in (own, other)]
                figure.add(*cpu_in_turns(asked, self._bench.seconds))
        self._load.add(*asyncio.run(self._loaded())[1])
        for each in self._starts:
            each.measure()


class _Start:
    """A start with a catalog, beside one with the sets of the interface."""

    def __init__(
        self, bench: Workbench, name: str, catalog: str, seconds: float, mebibytes: float
    ) -> None:
        self._bench = bench
        folder = bench.folder / f"start-{name}"
        folder.mkdir()
        self._settings = settings_in(folder)
        self._options = ["--catalog", catalog]
        self.first = Comparison(f"start with {name}", "s", "the interface", limit=seconds)
        self.memory = Single(f"memory of {name}, beyond the interface", "MiB", limit=mebibytes)
        # the first start creates the tables
        self._cost(self._options)

    def measure(self) -> None:
        """Start both once."""
        own, other = self._cost(self._options), self._cost([])
        self.first.add(own[0], other[0])
        self.memory.add(own[1] - other[1])

    def _cost(self, options: Sequence[str]) -> tuple[float, float]:
        """The CPU seconds until the first response, and the own memory then in MiB."""
        settings = self._settings if options else self._bench.company.settings
        command = [program_beside("comptoir"), *serving(settings), *options]
        file, path = self._bench.folder / "first", f"{settings.base_path}/companies"
        headers = {"Authorization": f"Bearer {token_for(settings)}"}
        with running("a service", command, self._bench.cores.server) as server:
            body_of(server, scenario(file, [path], headers))
            return server.cpu_seconds, server.memory.anonymous


def _beside(name: str) -> Comparison:
    return Comparison(f"own set: {name}", "µs", CONTACTS, at_most=MOST_RATIO)


def _own(path: Path) -> Path:
    """A catalog with another set like contacts."""
    text = files("comptoir.catalog").joinpath("built-in.toml").read_text(encoding="utf-8")
    contacts = tomllib.loads(text)["sets"][CONTACTS]
    contacts["type"] = "ownContact"
    del contacts["business_central"]
    for each in contacts["navigation"].values():
        each["to"] = each["to"].replace(CONTACTS, OWN)
    tables = [contacts.pop(name) for name in ("properties", "navigation")]
    lines = ['comptoir = 1\nbase = "built-in"', f"[sets.{OWN}]", *_entries(contacts)]
    for name, table in zip(("properties", "navigation"), tables, strict=True):
        lines += [f"[sets.{OWN}.{name}]", *_entries(table)]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def _entries(table: Mapping[str, object]) -> list[str]:
    return [f"{name} = {_inline(value)}" for name, value in table.items()]


def _inline(value: object) -> str:
    if isinstance(value, dict):
        return f"{{ {', '.join(_entries(value))} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(_inline, value))}]"
    return json.dumps(value)


def _many(path: Path) -> Path:
    """A catalog with as many sets as a large ERP's."""
    lines = ["comptoir = 1"]
    for number in range(SETS):
        lines += [
            f"[sets.many{number}]",
            f'type = "one{number}"',
            f"[sets.many{number}.properties]",
        ]
        lines += ['id = "Guid"', 'number = { type = "String(20)", required = true }']
        types = (TYPES[each % len(TYPES)] for each in range(PROPERTIES - 2))
        lines += [f'property{at} = "{each}"' for at, each in enumerate(types)]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path
