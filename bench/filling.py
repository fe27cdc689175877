"""Databases of many records, for measuring how cost grows with their number.

The records are item translations: small, writable, and with an index that begins with `itemNo`.
They are inserted by the statements of a unit of work, each with its entry in the change log, but
without the journal and the flushes that make a transaction durable.

As in a database that clients have filled, the order of the keys has nothing to do with that of the
items, and the pages of the database have some room: a part of the records is inserted between the
others.
"""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from uuid import UUID

from company import add_company, database_file, settings_in

from comptoir.app import open_store
from comptoir.catalog import MODEL
from comptoir.config import Settings
from comptoir.edm.record_json import record_encoder
from comptoir.edm.types import Stored
from comptoir.sql.dialects.sqlite import SQLITE
from comptoir.sql.prepared import Steps
from comptoir.sql.statements import Statements, statements_of
from comptoir.store.ledger import CREATE, Ledger
from comptoir.store.migration import migrate
from comptoir.store.sqlite.connection import Connection, connect
from comptoir.store.unit import UnitOfWork
from comptoir.store.watermarks import Watermarks

TRANSLATIONS = "itemTranslationsExt"
LANGUAGES = ("DAN", "DEU", "ENU", "FRA", "NLD")
"""The languages of an item, each a record."""

TEXT_LENGTH = 16
"""Characters of `description2`, so that an update with as many moves no other record."""

_CHUNK = 10_000
_CACHE_KIB = 3 << 20
"""Enough for the index of the items of ten million records, which is written in random order."""

_LATER = 5
"""Every fifth record is inserted after the others, between their keys."""

_SCATTERING = 2_654_435_761
"""A prime number: its multiples modulo any number of records are those numbers, scattered."""


@dataclass(frozen=True, slots=True)
class Filled:
    """A database with the same number of records in each of its companies."""

    settings: Settings
    companies: Sequence[str]
    records: int
    """All records, of all companies together."""

    @property
    def of_company(self) -> int:
        """The number of records of one company."""
        return self.records // len(self.companies)

    def path(self, company: int) -> str:
        """The path of the records of a company, by its position."""
        return f"{self.settings.base_path}/companies({self.companies[company]})/{TRANSLATIONS}"

    def key(self, number: int) -> str:
        """The key of a record, by its position in the order of the keys of a company."""
        distance = (1 << 128) // self.of_company
        return str(UUID(int=number * distance + (number + 1) * _SCATTERING % distance))

    def item(self, number: int) -> str:
        """The number of the item of a record, by the record's position."""
        return _item(self._place(number))

    def values(self, number: int) -> tuple[Stored, ...]:
        """The values of a record, by its position."""
        place = self._place(number)
        item, language = _item(place), LANGUAGES[place % len(LANGUAGES)]
        text = "-" * TEXT_LENGTH
        return self.key(number), item, language, f"{item} in {language}", text, ""

    def _place(self, number: int) -> int:
        """The position of a record in the order of items and languages."""
        return number * _SCATTERING % self.of_company


def _item(place: int) -> str:
    return f"IT-{place // len(LANGUAGES):07d}"


async def filled(folder: Path, companies: int, records: int) -> Filled:
    """Create a database in a folder; `records` are spread evenly over its companies."""
    settings = settings_in(folder, f"{companies}-{records}.db")
    migrate(settings, MODEL)
    store = open_store(settings)
    try:
        made = [await add_company(store) for _ in range(companies)]
    finally:
        await store.close()
    filled = Filled(settings, [each.id for each in made], records)
    with closing(connect(database_file(settings), writes=True, lock_seconds=5)) as connection:
        for setting in ("journal_mode=OFF", "synchronous=OFF", f"cache_size=-{_CACHE_KIB}"):
            connection.execute(f"PRAGMA {setting}").fetchall()
        connection.execute("BEGIN")
        _fill(connection, filled)
        connection.execute("COMMIT")
    return filled


def _fill(connection: Connection, filled: Filled) -> None:
    statements = statements_of(MODEL, SQLITE)
    numbers = range(filled.of_company)
    first, later = [each for each in numbers if each % _LATER], numbers[::_LATER]
    for company_id in filled.companies:
        for some in (first, later):
            for start in range(0, len(some), _CHUNK):
                chunk = some[start : start + _CHUNK]
                _insert(connection, statements, company_id, [filled.values(each) for each in chunk])


def _insert(
    connection: Connection,
    statements: Statements,
    company_id: str,
    rows: Sequence[tuple[Stored, ...]],
) -> None:
    ledger_rows = connection.run(statements.service.ledger.query(company_id))
    ledger = Ledger(company_id, ledger_rows, Watermarks())
    connection.drive(_steps(UnitOfWork(statements, ledger), rows))
    for statement in ledger.closing(statements.service):
        connection.run(statement)


def _steps(unit: UnitOfWork, rows: Sequence[tuple[Stored, ...]]) -> Steps[None]:
    entity_set = MODEL.by_name[TRANSLATIONS]
    changes, _ = unit.ledger.log_all(entity_set, [key for key, *_ in rows], CREATE, "bench")
    by_column = list(zip(*rows, strict=True))
    json = record_encoder(entity_set.type).columns_of_all(changes, by_column)
    values = zip(repeat(unit.company_id), changes, *json, *by_column, strict=False)
    yield unit.statements.writes.insert[entity_set].many(values)
