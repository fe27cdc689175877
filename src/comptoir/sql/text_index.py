"""The text index: searches to SQL, and the statements that bring the index up to date.

A search is exact over the folded texts of the records, whatever the index contains. The progress of
a set's index is a change number. The database searches records that have not changed since then by
their documents, which are texts with an index, and the other records by their own texts.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from typing import cast

import sqlalchemy as sa
from sqlalchemy.sql import ClauseElement

from comptoir.edm.model import EntitySet, Model
from comptoir.plan.expressions.nodes import BoundSearch, ContainsTerm, MatchesSearch, Slot
from comptoir.sql.dialects import Dialect, SqlValue
from comptoir.sql.prepared import (
    Prepared,
    constant,
    constant_text,
    first_rows,
    named,
    prepare,
    prepare_insert,
    slot_of,
    whole,
)
from comptoir.sql.tables import COMPANY, VERSION, Tables, of_company

SCOPE_SIZE = 1 << 40
"""The size of a scope: the documents of the set with scope n have numbers from n * SCOPE_SIZE."""

LAST_NUMBER = (1 << 63) - 1
"""The highest number that a change can have."""

Contains = Callable[[sa.ColumnElement[str], Slot], sa.ColumnElement[bool]]
"""Builds the condition that a folded text contains a term."""


def logged_set(entity_set: EntitySet) -> str:
    """The set that the change log names for a set: for a view, its base."""
    return entity_set.name if entity_set.view is None else entity_set.view.base


def layout(entity_set: EntitySet, dialect: Dialect) -> str:
    """A digest of how a set's documents are built; when it changes, they are built again."""
    source = "\n".join([dialect.index.folding, *entity_set.type.searched])
    return blake2b(source.encode(), digest_size=16).hexdigest()


def folded(entity_set: EntitySet, tables: Tables, dialect: Dialect) -> sa.ColumnElement[str]:
    """The text of a record's document, computed from the record."""
    columns = tables.records[entity_set.name].columns
    text = dialect.functions["fold"](*[columns[name] for name in entity_set.type.searched])
    return cast("sa.ColumnElement[str]", text)


def as_key(entity_set: EntitySet, tables: Tables, record: sa.ColumnElement[str]) -> SqlValue:
    """A record's key in the type of its column, from its text in change log and documents."""
    key = tables.records[entity_set.name].columns[entity_set.type.key]
    if isinstance(entity_set.type.key_property.type.default, str):
        return cast("SqlValue", record)
    return cast("SqlValue", sa.cast(record, key.type))


def matches(
    node: MatchesSearch, entity_set: EntitySet, key: SqlValue, tables: Tables, dialect: Dialect
) -> sa.ColumnElement[bool]:
    """Whether a search finds the record of a set with this key."""
    search = _Search(entity_set, tables, dialect)
    if not entity_set.per_company:
        return key.in_(search.by_records(node.search, changed=None))
    changed = search.changed()
    unchanged = search.by_documents(node.search, changed)
    return key.in_(sa.union_all(unchanged, search.by_records(node.search, changed)))


def text_matches(
    node: MatchesSearch,
    entity_set: EntitySet,
    record: Mapping[str, SqlValue],
    froms: Sequence[sa.FromClause],
    tables: Tables,
    dialect: Dialect,
) -> sa.ColumnElement[bool]:
    """Whether a search finds the record with these columns of `froms`, by its text alone."""
    text = dialect.functions["fold"](*[record[name] for name in entity_set.type.searched])
    if entity_set.per_company:
        key = sa.cast(record[entity_set.type.key], sa.Text)
        text = sa.func.coalesce(_Search(entity_set, tables, dialect).document_of(key, froms), text)
    # with an offset the database computes the text once, not once for each term
    texts = sa.select(text.label("folded")).correlate(*froms).limit(dialect.no_limit)
    computed = texts.offset(constant(0)).subquery()
    found = _found_in(node.search, computed.c.folded, partial(_contains, dialect))
    return sa.exists(sa.select(constant(1)).select_from(computed).where(found))


class _Search:
    """Builds the parts of a search's statement."""

    def __init__(self, entity_set: EntitySet, tables: Tables, dialect: Dialect) -> None:
        self._set = entity_set
        self._tables = tables
        self._dialect = dialect

    def changed(self) -> sa.Select[str | int]:
        """The keys of the records that are changed but not indexed, as texts of the change log."""
        changes = self._tables.changes
        progress = sa.func.coalesce(self._progress(self._tables.search_marks.c.number), constant(0))
        first = progress + constant(1)
        logged = sa.select(changes.c.record.label("record")).where(
            of_company(changes),
            # without an upper bound, planners estimate a third of the log
            changes.c.number.between(first, constant(LAST_NUMBER)),
            changes.c.entity_set == constant_text(logged_set(self._set)),
        )
        oldest = (
            sa.select(sa.func.min(changes.c.number)).where(of_company(changes)).scalar_subquery()
        )
        records = self._tables.records[self._set.name]
        is_trimmed = records.table.c[VERSION].between(first, oldest - constant(1))
        key = sa.cast(records.columns[self._set.type.key], sa.Text).label("record")
        trimmed = sa.select(key).where(of_company(records.table), is_trimmed).offset(constant(0))
        # no record is read unless the log lacks changes
        most = sa.case((first < oldest, constant(LAST_NUMBER)), else_=constant(0))
        found = sa.union_all(logged, sa.select(trimmed.limit(most).subquery().c.record))
        return sa.select(found.subquery().c.record)

    def by_documents(
        self, search: BoundSearch, changed: sa.Select[str | int]
    ) -> sa.Select[str | int]:
        """The keys of the records that a search finds by their documents."""
        documents = self._tables.search_documents
        first, last = self._scope()
        narrowed = self._dialect.index.candidates(search, first, last)
        numbers = (
            self._dialect.index.numbered(documents.c.document, first, last)
            if narrowed is None
            else documents.c.document.in_(narrowed)
        )
        return sa.select(as_key(self._set, self._tables, documents.c.record)).where(
            of_company(documents),
            numbers,
            _found_in(search, documents.c.folded, self._dialect.index.contains),
            documents.c.record.not_in(changed),
        )

    def by_records(
        self, search: BoundSearch, changed: sa.Select[str | int] | None
    ) -> sa.Select[str | int]:
        """The keys of the changed records that a search finds by their own texts."""
        records = self._tables.records[self._set.name]
        key = records.columns[self._set.type.key]
        texts = sa.select(
            key.label("key"), folded(self._set, self._tables, self._dialect).label("folded")
        )
        if changed is not None:
            keys = sa.select(as_key(self._set, self._tables, changed.subquery().c.record))
            texts = texts.where(of_company(records.table), key.in_(keys))
        # with an offset the database computes each text once, not once for each term
        computed = texts.limit(self._dialect.no_limit).offset(constant(0)).subquery()
        return sa.select(computed.c.key).where(
            _found_in(search, computed.c.folded, partial(_contains, self._dialect))
        )

    def document_of(
        self, record: sa.ColumnElement[str], froms: Sequence[sa.FromClause]
    ) -> sa.ScalarSelect[str]:
        """The text of the document of a record of `froms`, null if it is not current."""
        documents = self._tables.search_documents
        document = sa.select(documents.c.folded).where(
            of_company(documents),
            documents.c.entity_set == constant_text(self._set.name),
            documents.c.record == record,
            documents.c.document.between(*self._scope()),
            documents.c.record.not_in(self.changed()),
        )
        return document.correlate(*froms).scalar_subquery()

    def _scope(self) -> tuple[sa.ColumnElement[int], sa.ColumnElement[int]]:
        first = self._progress(self._tables.search_marks.c.scope) * constant(SCOPE_SIZE)
        return first, first + constant(SCOPE_SIZE - 1)

    def _progress(self, column: sa.ColumnElement[int]) -> sa.ScalarSelect[int]:
        marks = self._tables.search_marks
        return (
            sa.select(column)
            .where(
                of_company(marks),
                marks.c.entity_set == constant_text(self._set.name),
                marks.c.layout == constant_text(layout(self._set, self._dialect)),
            )
            .scalar_subquery()
        )


def _contains(dialect: Dialect, text: sa.ColumnElement[str], term: Slot) -> sa.ColumnElement[bool]:
    return cast(
        "sa.ColumnElement[bool]", dialect.functions["contains_literal"](text, slot_of(term))
    )


def _found_in(
    search: BoundSearch, text: sa.ColumnElement[str], contains: Contains
) -> sa.ColumnElement[bool]:
    if isinstance(search, ContainsTerm):
        contained = contains(text, search.term)
        return sa.not_(contained) if search.negated else contained
    join = sa.and_ if search.operator == "and" else sa.or_
    return join(*[_found_in(each, text, contains) for each in search.operands])


@dataclass(frozen=True, slots=True)
class IndexedSet:
    """The index of a set: the set that logs its changes, and the layout of its documents."""

    name: str
    logged: str
    layout: str
    texts: Prepared
    """The texts of records whose last change is in a window: company, set, since, through."""
    trimmed: Prepared
    """The last change, document with its text, key and text of each record whose last change is
    among some, in the order of these: company, set, since, through, limit."""


class TextIndexStatements:
    """Each statement's docstring ends with the values to bind, in order."""

    def __init__(self, model: Model, tables: Tables, dialect: Dialect) -> None:
        self._tables = tables
        self._compiler = dialect.compiler
        marks, documents = tables.search_marks, tables.search_documents
        of_set = of_company(marks), marks.c.entity_set == named("set")
        self.sets = {
            each: IndexedSet(
                each.name,
                logged_set(each),
                layout(each, dialect),
                self._texts(each, dialect),
                self._trimmed(each, dialect),
            )
            for each in model.per_company
        }
        """The indexes of the sets under a company."""

        progress = sa.select(marks.c.layout, marks.c.number, marks.c.scope).where(*of_set)
        self.progress = self._prepare(progress, COMPANY, "set")
        """The layout, number and scope of a set's index: company, set."""

        self.lags = self._lags()
        """The name of each set with records, and the number of changes its index lacks: company."""

        free_scope = sa.select(
            sa.func.coalesce(sa.func.max(marks.c.scope), constant(0)) + constant(1)
        )
        if not dialect.index.spans_companies:
            free_scope = free_scope.where(of_company(marks))
        self.free_scope = self._prepare(free_scope, COMPANY)
        """An unused scope: company."""

        self.add_progress = self._add(marks)
        """Add the progress of a set's index: company, set, layout, number, scope."""

        moved = {"layout": named("set_layout"), "number": named("set_number")}
        self.move_progress = self._prepare(
            sa.update(marks).where(*of_set).values(moved),
            COMPANY,
            "set",
            "set_layout",
            "set_number",
        )
        """Store the progress of a set's index: company, set, layout, number."""

        self.window = self._window()
        """The numbers of the next changes of a set: company, set, since, through, limit."""

        self.stale = self._stale()
        """Documents of records that changed: company, set, changed set, since, through."""

        is_number = documents.c.document == named("document")
        drop = sa.delete(documents).where(of_company(documents), is_number)
        self.drop_document = self._prepare(drop, COMPANY, "document")
        """Drop a document: company, number."""

        self.last_document = self._last_document()
        """The highest number of a scope's documents, or the one below its first: company, scope."""

        self.add_document = self._add(documents)
        """Add a document: company, number, set, record, text."""

        self.documents = dialect.index
        """The index over the documents."""

    def _prepare(self, statement: ClauseElement, *names: str) -> Prepared:
        return prepare(statement, self._compiler, names)

    def _lags(self) -> Prepared:
        companies, marks = self._tables.companies, self._tables.search_marks
        sets = []
        for entity_set, indexed in self.sets.items():
            number = sa.select(marks.c.number).where(
                of_company(marks),
                marks.c.entity_set == constant_text(indexed.name),
                marks.c.layout == constant_text(indexed.layout),
            )
            lag = companies.c.change_number - sa.func.coalesce(
                number.scalar_subquery(), constant(0)
            )
            records = self._tables.records[entity_set.name].table
            has_records = sa.exists(sa.select(constant(1)).where(of_company(records)))
            each = sa.select(constant_text(indexed.name), lag)
            sets.append(each.where(of_company(companies), has_records))
        return self._prepare(sa.union_all(*sets), COMPANY)

    def _add(self, table: sa.Table) -> Prepared:
        return prepare_insert(table, [each.name for each in table.columns], self._compiler)

    def _changed(self, column: SqlValue) -> sa.Select[str | int]:
        changes = self._tables.changes
        return sa.select(column).where(
            of_company(changes),
            changes.c.entity_set == named("changed_set"),
            changes.c.number > named("since"),
            changes.c.number <= named("through"),
        )

    def _window(self) -> Prepared:
        number = self._tables.changes.c.number
        changes = first_rows(self._changed(number).order_by(number), whole("limit"))
        return self._prepare(changes, COMPANY, "changed_set", "since", "through", "limit")

    def _stale(self) -> Prepared:
        documents = self._tables.search_documents
        statement = sa.select(documents.c.document, documents.c.folded).where(
            of_company(documents),
            documents.c.entity_set == named("set"),
            documents.c.record.in_(self._changed(self._tables.changes.c.record)),
        )
        return self._prepare(statement, COMPANY, "set", "changed_set", "since", "through")

    def _texts(self, entity_set: EntitySet, dialect: Dialect) -> Prepared:
        records = self._tables.records[entity_set.name]
        key = records.columns[entity_set.type.key]
        changed = self._changed(as_key(entity_set, self._tables, self._tables.changes.c.record))
        statement = sa.select(key, folded(entity_set, self._tables, dialect)).where(
            of_company(records.table),
            key.in_(changed),
            records.table.c[VERSION] <= named("through"),
        )
        return self._prepare(statement, COMPANY, "changed_set", "since", "through")

    def _trimmed(self, entity_set: EntitySet, dialect: Dialect) -> Prepared:
        records = self._tables.records[entity_set.name]
        documents, is_own = self._tables.search_documents, of_company(records.table)
        key, number = records.columns[entity_set.type.key], records.table.c[VERSION]
        is_next = is_own, number > named("since"), number <= named("through")
        next_ones = sa.select(key).where(*is_next).order_by(number).limit(whole("limit"))
        text = folded(entity_set, self._tables, dialect)
        statement = sa.select(number, documents.c.document, documents.c.folded, key, text)
        is_set = of_company(documents), documents.c.entity_set == named("set")
        is_document = sa.and_(*is_set, documents.c.record == sa.cast(key, sa.Text))
        statement = statement.outerjoin_from(records.table, documents, is_document).order_by(number)
        # the texts are computed of these only
        statement = statement.where(is_own, key.in_(next_ones.offset(constant(0))))
        return self._prepare(statement, COMPANY, "set", "since", "through", "limit")

    def _last_document(self) -> Prepared:
        documents = self._tables.search_documents
        number, first = documents.c.document, named("scope") * constant(SCOPE_SIZE)
        last = sa.select(sa.func.coalesce(sa.func.max(number), first - constant(1))).where(
            of_company(documents), number >= first, number < first + constant(SCOPE_SIZE)
        )
        return self._prepare(last, COMPANY, "scope")
