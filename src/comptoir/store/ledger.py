"""The state of one company within a transaction: its change numbers and the records read so far.

The transaction locks the company's row before it reads anything else. So change numbers rise in the
order of commits, and a reader of the change log never skips one.
"""

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache

import msgspec

from comptoir.edm.model import Company, EntitySet, EntityType, KeyValues
from comptoir.edm.times import INSTANT, instant
from comptoir.edm.types import Stored
from comptoir.errors import refusal_rows
from comptoir.plan.read import Row
from comptoir.sql.prepared import Statement
from comptoir.sql.statements import ServiceStatements
from comptoir.store.watermarks import Watermark, Watermarks

CREATE, UPDATE, DELETE = "create", "update", "delete"
"""The verbs of the change log."""

Identity = tuple[str, tuple[str, ...], KeyValues]
"""An entity set, the properties of its key or of a unique rule, and their values in one record."""

Values = Mapping[str, Stored | None]
"""Values in stored form by their properties; None for those that are not stored."""

_log = logging.getLogger(__name__)


class Change(msgspec.Struct, frozen=True, rename="camel"):
    """An entry of the change log. It has the record's key, but none of its values."""

    number: int
    entity_set: str
    record: str
    verb: str
    at: str
    by: str


class IdentityMap(dict[Identity, Row | None]):
    """The records that a transaction has read or written, or None where it found no record.

    The writer holds the company's row lock, so a record cannot change between its read and its
    write. Blank values that a unique rule allows in several records are not an identity.
    """

    def replace(self, entity_set: EntitySet, before: Row | None, after: Row | None) -> None:
        """Apply a write; `before` is None for a new record, `after` for a deleted one."""
        for names, columns in _identities(entity_set):
            if before is not None:
                self[(entity_set.name, names, tuple([before[at] for at in columns]))] = None
            if after is not None:
                self[(entity_set.name, names, tuple([after[at] for at in columns]))] = after


@cache
def _identities(entity_set: EntitySet) -> Sequence[tuple[tuple[str, ...], tuple[int, ...]]]:
    """The properties of the key and of each unique rule, with their columns in a row."""
    entity_type = entity_set.type
    all_names = [(entity_type.key,), *(rule.properties for rule in entity_type.unique)]
    return [(names, tuple(entity_type.column_of[name] for name in names)) for names in all_names]


class Ledger:
    """Numbers the changes of one company within a transaction.

    `rows` is the result of the statement that reads and locks the company's row; it is empty if
    the company does not exist. `keeps_values`: changes are stored with the values that they change.
    """

    def __init__(
        self, company_id: str, rows: Sequence[Row], watermarks: Watermarks, *, keeps_values: bool
    ) -> None:
        self.company_id = company_id
        self.identity_map = IdentityMap()
        self._exists = bool(rows)
        number, at, incarnation = rows[0] if rows else (0, INSTANT.default, "")
        self.number, self.at = int(number), str(at)
        """The number and the time of the company's last change."""
        self._company = Company(company_id, str(incarnation))
        self._watermarks = watermarks
        self._keeps_values = keeps_values
        self._changes: list[tuple[Stored | None, ...]] = []

    @property
    def company(self) -> Company:
        """The company with its current incarnation, which may be newer than the request's.

        Raises `Refusal` (404) if the company does not exist. It does not while it is copied again.
        """
        self.check_exists()
        return self._company

    def check_exists(self) -> None:
        """Raise `Refusal` (404) if the company does not exist."""
        if not self._exists:
            raise refusal_rows.COMPANY_GONE(company=self.company_id)

    def log(self, entity_set: EntitySet, key: Stored, verb: str, by: str) -> tuple[int, str]:
        """Add an entry to the change log; returns its number and time.

        The time never falls as numbers rise. Raises `Refusal`: 404 as `check_exists`, 503 if the
        database lacks a change that this process has acknowledged.
        """
        self._next()
        number, at = self.number, self.at
        change = (self.company_id, number, entity_set.name, str(key), verb, at, by, None, None)
        self._changes.append(change)
        return number, at

    def add_difference(
        self, entity_type: EntityType, names: Iterable[str], before: Row, after: Row | None
    ) -> None:
        """Add to the last entry what it did to some properties; `after` is None for a delete."""
        difference = None
        if self._keeps_values:
            difference = encode_difference(entity_type, names, before, after)
        self._changes[-1] = (*self._changes[-1][:-2], before[0], difference)

    def log_all(
        self, entity_set: EntitySet, keys: Sequence[Stored], verb: str, by: str
    ) -> tuple[range, str]:
        """Add an entry for each key, of which there is at least one; returns numbers and time."""
        self._next()
        numbers = range(self.number, self.number + len(keys))
        self.number = numbers[-1]
        company_id, name, at = self.company_id, entity_set.name, self.at
        self._changes += [
            (company_id, number, name, str(key), verb, at, by, None, None)
            for number, key in zip(numbers, keys, strict=True)
        ]
        return numbers, at

    def _next(self) -> None:
        self._check_watermark()
        self.number += 1
        self.at = max(self.at, instant(datetime.now(UTC)))

    def _check_watermark(self) -> None:
        acknowledged = self._watermarks.number(self.company)
        if self.number < acknowledged:
            _log.error(
                "the database lacks changes that this service has acknowledged: the company %s is "
                "at change %d, and change %d was acknowledged. Run `comptoir company renew`.",
                self.company_id,
                self.number,
                acknowledged,
            )
            raise refusal_rows.LOST_CHANGES(company=self.company_id)

    def renew(self, incarnation: str) -> None:
        """Continue with another incarnation, which the unit of work stores.

        Raises `Refusal` (404) as `check_exists`.
        """
        self._company = msgspec.structs.replace(self.company, incarnation=incarnation)

    def acknowledge(self) -> None:
        """Raise the watermark after the commit, before any client learns of the changes."""
        if self._changes:
            self._watermarks[self._company] = Watermark(self.number, self.at)

    @property
    def last(self) -> Change | None:
        """The last change of the transaction, if it has any."""
        return Change(*self._changes[-1][1:-2]) if self._changes else None  # type: ignore[arg-type]

    def savepoint(self) -> tuple[int, str, int]:
        """The last number and time, and the number of changes, for `roll_back`."""
        return self.number, self.at, len(self._changes)

    def roll_back(self, savepoint: tuple[int, str, int]) -> None:
        """Undo the changes of a unit of work."""
        self.number, self.at, changes = savepoint
        if len(self._changes) > changes:
            del self._changes[changes:]
            self.identity_map.clear()

    def closing(self, statements: ServiceStatements) -> Iterator[Statement]:
        """The statements that store the ledger at the end of the transaction."""
        if not self._changes:
            return
        yield statements.add_change.many(self._changes)
        yield statements.store_ledger.query(self.company_id, self.number, self.at)


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(dict[str, tuple[Stored, ...] | None]).decode


def encode_difference(
    entity_type: EntityType, names: Iterable[str], before: Row, after: Row | None
) -> str:
    """The difference of two versions of a record in some properties; `after` may not exist.

    It is a JSON object: for each property, its value before and after an update, or the last one of
    a deleted record. Of a secret and of a stream it only says that they changed.
    """
    column_of, rows = entity_type.column_of, (before,) if after is None else (before, after)
    hidden = _not_stored(entity_type)
    values = {
        name: None if name in hidden else [row[column_of[name]] for row in rows] for name in names
    }
    return _encode(values).decode()


def decode_difference(text: str) -> tuple[Values, Values]:
    """The values before a change, and those after an update."""
    values = _decode(text)
    before, after = (
        {name: None if each is None else each[at] for name, each in values.items()}
        for at in (0, -1)
    )
    return before, after


@cache
def _not_stored(entity_type: EntityType) -> frozenset[str]:
    """The properties whose values a history does not have."""
    return frozenset(each.name for each in entity_type.properties if each.secret or each.is_stream)
