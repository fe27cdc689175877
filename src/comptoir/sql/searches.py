"""Searches to SQL: exact over the folded texts of the records, whatever the index holds.

What has not changed since a set's mark is compared by its document, a text in which the database
finds terms by itself; what has changed, or all while there is no mark, by the records themselves.
"""

from collections.abc import Callable
from hashlib import blake2b
from typing import cast

from sqlalchemy import (
    ColumnElement,
    ScalarSelect,
    Select,
    and_,
    func,
    not_,
    or_,
    select,
    union_all,
)
from sqlalchemy import cast as sql_cast

from comptoir.edm.model import EntitySet
from comptoir.plan.bound import Found, Matches, Slot, Sought
from comptoir.sql.dialects import Dialect
from comptoir.sql.levels import SqlValue
from comptoir.sql.prepared import constant, constant_text, named, slot_of
from comptoir.sql.tables import COMPANY_ID, Tables

SCOPE_SIZE = 1 << 40
"""How many numbers the documents of a set may have: those of scope n begin at n times as many."""


LAST_NUMBER = (1 << 63) - 1
"""The highest number that a change can have."""

Contains = Callable[[ColumnElement[str], Slot], ColumnElement[bool]]
"""Says of a folded text that it contains a term."""


def logged_set(entity_set: EntitySet) -> str:
    """The set under whose name the changes of a set's records are logged."""
    return entity_set.name if entity_set.view is None else entity_set.view.base


def layout(entity_set: EntitySet, dialect: Dialect) -> str:
    """What the text of a set's documents is made of; documents of another layout are of no use."""
    made_of = "\n".join([dialect.index.folding, *entity_set.type.searched])
    return blake2b(made_of.encode(), digest_size=16).hexdigest()


def folded(entity_set: EntitySet, tables: Tables, dialect: Dialect) -> ColumnElement[str]:
    """The text of a record's document, made of the record."""
    columns = tables.records[entity_set.name].columns
    text = dialect.functions["fold"](*[columns[name] for name in entity_set.type.searched])
    return cast("ColumnElement[str]", text)


def as_key(entity_set: EntitySet, tables: Tables, record: ColumnElement[str]) -> SqlValue:
    """A record's key, as the change log and the documents spell it, as its column holds it."""
    key = tables.records[entity_set.name].columns[entity_set.type.key]
    if isinstance(entity_set.type.key_property.type.default, str):
        return cast("SqlValue", record)
    return cast("SqlValue", sql_cast(record, key.type))


def matches(
    node: Matches, entity_set: EntitySet, key: SqlValue, tables: Tables, dialect: Dialect
) -> ColumnElement[bool]:
    """Whether the record of a set that has a key is among those that a search finds."""
    search = _Search(entity_set, tables, dialect)
    if not entity_set.per_company:
        return key.in_(search.by_records(node.sought, changed=None))
    changed = search.changed()
    unchanged = search.by_documents(node.sought, changed)
    return key.in_(union_all(unchanged, search.by_records(node.sought, changed)))


class _Search:
    """The parts of a search's statement, under the company that the statement is about."""

    def __init__(self, entity_set: EntitySet, tables: Tables, dialect: Dialect) -> None:
        self._set = entity_set
        self._tables = tables
        self._dialect = dialect

    def changed(self) -> Select[str | int]:
        """The records that have changed since the mark, as the change log spells their keys."""
        changes = self._tables.changes
        mark = func.coalesce(self._mark(self._tables.search_marks.c.number), constant(0))
        return select(changes.c.record).where(
            changes.c[COMPANY_ID] == named("company"),
            # bounded above as well, or planners reckon with a third of the log
            changes.c.number.between(mark + constant(1), constant(LAST_NUMBER)),
            changes.c.entity_set == constant_text(logged_set(self._set)),
        )

    def by_documents(self, sought: Sought, changed: Select[str | int]) -> Select[str | int]:
        """The keys of the records that are found by their documents."""
        documents = self._tables.search_documents
        first = self._mark(self._tables.search_marks.c.scope) * constant(SCOPE_SIZE)
        last = first + constant(SCOPE_SIZE - 1)
        narrowed = self._dialect.index.candidates(sought, first, last)
        numbers = (
            self._dialect.index.numbered(documents.c.document, first, last)
            if narrowed is None
            else documents.c.document.in_(narrowed)
        )
        return select(as_key(self._set, self._tables, documents.c.record)).where(
            documents.c[COMPANY_ID] == named("company"),
            numbers,
            _holds(sought, documents.c.folded, self._dialect.index.contains),
            documents.c.record.not_in(changed),
        )

    def by_records(self, sought: Sought, changed: Select[str | int] | None) -> Select[str | int]:
        """The keys of the records that are found by their own texts, of those that changed."""
        records = self._tables.records[self._set.name]
        key = records.columns[self._set.type.key]
        texts = select(
            key.label("key"), folded(self._set, self._tables, self._dialect).label("folded")
        )
        if changed is not None:
            record = self._tables.changes.c.record
            keys = changed.with_only_columns(as_key(self._set, self._tables, record))
            texts = texts.where(records.table.c[COMPANY_ID] == named("company"), key.in_(keys))
        # with an offset the database makes each text once, and not anew for each term
        made = texts.limit(self._dialect.no_limit).offset(constant(0)).subquery()
        return select(made.c.key).where(_holds(sought, made.c.folded, self._contains))

    def _mark(self, held: ColumnElement[int]) -> ScalarSelect[int]:
        marks = self._tables.search_marks
        return (
            select(held)
            .where(
                marks.c[COMPANY_ID] == named("company"),
                marks.c.entity_set == constant_text(self._set.name),
                marks.c.layout == constant_text(layout(self._set, self._dialect)),
            )
            .scalar_subquery()
        )

    def _contains(self, text: ColumnElement[str], term: Slot) -> ColumnElement[bool]:
        contains = self._dialect.functions["contains_text"](text, slot_of(term))
        return cast("ColumnElement[bool]", contains)


def _holds(sought: Sought, text: ColumnElement[str], contains: Contains) -> ColumnElement[bool]:
    if isinstance(sought, Found):
        held = contains(text, sought.term)
        return not_(held) if sought.negated else held
    join = and_ if sought.operator == "and" else or_
    return join(*[_holds(each, text, contains) for each in sought.operands])
