"""Databases of many records, for measuring how cost grows with their number.

The records are item translations: small, writable, with an alternate key, whose index also serves
filters and orders. They are inserted by the statements of a unit of work, each with its entry in
the change log, and added to the text index as a search would add them, but without the journal and
the flushes that make a transaction durable.

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
from comptoir.edm.model import Company
from comptoir.edm.record_json import record_encoder
from comptoir.edm.types import Stored
from comptoir.sql.dialects.sqlite import SQLITE
from comptoir.sql.prepared import Steps
from comptoir.sql.statements import Statements, statements_of
from comptoir.store.ledger import CREATE, Ledger
from comptoir.store.migration import migrate
from comptoir.store.sqlite.connection import Connection, connect
from comptoir.store.text_index import index_some
from comptoir.store.unit import UnitOfWork
from comptoir.store.watermarks import Watermarks

TRANSLATIONS = MODEL.by_name["itemTranslationsExt"]
LANGUAGES = ("DAN", "DEU", "ENU", "ESP", "FIN", "FRA", "ITA", "NLD", "NOR", "SVE")
VARIANTS = 10
OF_ITEM = len(LANGUAGES) * VARIANTS
"""The records of an item."""

TEXT_LENGTH = 16
"""Characters of `description2`, so that an update with as many moves no other record."""

_CHUNK = 10_000
_CACHE_KIB = 3 << 20
"""Enough for the index of the items of ten million records, which is written in random order."""

_LATER = 5
"""Every fifth record is inserted after the others, between their keys."""

_SCATTERING = 2_654_435_761
"""A prime number: its multiples modulo any number of records are those numbers, scattered."""

_LETTERS = 7
_WORDS = 26**_LETTERS
_NUMBERS = 10**7
"""Item numbers are spread over as many, so that new ones come between them."""


@dataclass(frozen=True, slots=True)
class Filled:
    """A database with one company, which has `count` records."""

    settings: Settings
    company: Company
    count: int

    @property
    def path(self) -> str:
        """The path of the records."""
        return f"{self.settings.base_path}/companies({self.company.id})/{TRANSLATIONS.name}"

    def key(self, number: int) -> str:
        """The key of a record, by its position in the order of the keys."""
        distance = (1 << 128) // self.count
        return str(UUID(int=number * distance + (number + 1) * _SCATTERING % distance))

    def alternate_key(self, place: int) -> tuple[str, str, str]:
        """Item, language and variant of a record, by its place in their order."""
        group, variant = divmod(place, VARIANTS)
        item, language = divmod(group, len(LANGUAGES))
        number = item * _NUMBERS * OF_ITEM // self.count
        return f"IT-{number:07d}", LANGUAGES[language], f"V{variant}"

    def word(self, place: int) -> str:
        """A word that only the variants of the same item and language have."""
        # the digits of a number with the base of the letters
        number = (place // VARIANTS + 1) * _SCATTERING % _WORDS
        return "".join(chr(97 + number // 26**each % 26) for each in range(_LETTERS))

    def place(self, number: int) -> int:
        """The place of a record in the order of the alternate keys, by that in the keys' order."""
        return number * _SCATTERING % self.count

    def number(self, place: int) -> int:
        """The position of a record in the order of the keys, by its place."""
        return place * pow(_SCATTERING, -1, self.count) % self.count

    def values(self, number: int) -> tuple[Stored, ...]:
        """The values of a record, by its position in the order of the keys."""
        place = self.place(number)
        item, language, variant = self.alternate_key(place)
        text = f"{self.word(place)} in {language}"
        return self.key(number), item, language, text, "-" * TEXT_LENGTH, variant


async def filled(folder: Path, count: int) -> Filled:
    """Create a database in a folder."""
    settings = settings_in(folder, f"{count}.db")
    migrate(settings, MODEL)
    store = open_store(settings)
    try:
        filled = Filled(settings, await add_company(store), count)
    finally:
        await store.close()
    with closing(connect(database_file(settings), writes=True, lock_seconds=5)) as connection:
        for setting in ("journal_mode=OFF", "synchronous=OFF", f"cache_size=-{_CACHE_KIB}"):
            connection.execute(f"PRAGMA {setting}").fetchall()
        connection.execute("BEGIN")
        _fill(connection, filled)
        connection.execute("COMMIT")
    return filled


def _fill(connection: Connection, filled: Filled) -> None:
    statements, company_id = statements_of(MODEL, SQLITE), filled.company.id
    numbers = range(filled.count)
    first, later = [each for each in numbers if each % _LATER], numbers[::_LATER]
    for some in (first, later):
        for start in range(0, len(some), _CHUNK):
            rows = [filled.values(each) for each in some[start : start + _CHUNK]]
            unit = _unit(connection, statements, company_id)
            connection.drive(_insert(unit, rows))
            for statement in unit.ledger.closing(statements.service):
                connection.run(statement)
    unit = _unit(connection, statements, company_id)
    while connection.drive(index_some(TRANSLATIONS, None, unit))[1]:
        pass


def _unit(connection: Connection, statements: Statements, company_id: str) -> UnitOfWork:
    rows = connection.run(statements.service.ledger.query(company_id))
    return UnitOfWork(statements, Ledger(company_id, rows, Watermarks(), keeps_values=False))


def _insert(unit: UnitOfWork, rows: Sequence[tuple[Stored, ...]]) -> Steps[None]:
    changes, _ = unit.ledger.log_all(TRANSLATIONS, [key for key, *_ in rows], CREATE, "bench")
    by_column = list(zip(*rows, strict=True))
    json = record_encoder(TRANSLATIONS.type).columns_of_all(changes, by_column)
    values = zip(repeat(unit.company_id), changes, *json, *by_column, strict=False)
    yield unit.statements.writes.insert[TRANSLATIONS].many(values)
