"""The text index: searches to SQL, and the statements that bring the index up to date.

A search is exact over the folded texts of the records, whatever the index contains. The progress of
a set's index is a change number. The database searches records that have not changed since then by
their documents, which are texts with an index, and the other records by their own texts.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from hashlib import blake2b
from typing import cast

import sqlalchemy as sa
from sqlalchemy.sql import ClauseElement

from comptoir.edm.model import EntitySet, Model
from comptoir.plan.expressions.nodes import BoundSearch, ContainsTerm, MatchesSearch, Slot
from comptoir.sql.dialects import Dialect
from comptoir.sql.dialects.functions import SqlValue
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


class SearchedSet:
    """A searched set: the texts of its records, and the documents that its text index has of them.

    `logged` is the set that logs its changes, and `layout` a digest of how its documents are built:
    when it changes, they are built again.
    """

    def __init__(self, entity_set: EntitySet, tables: Tables, dialect: Dialect) -> None:
        self._set = entity_set
        self._tables = tables
        self._dialect = dialect
        self._records = tables.records[entity_set.name]
        self._key = self._records.columns[entity_set.type.key]
        self.name = entity_set.name
        self.logged = logged_set(entity_set)
        source = "\n".join([dialect.folding, *entity_set.type.searched])
        self.layout = blake2b(source.encode(), digest_size=16).hexdigest()

    def matches(self, node: MatchesSearch, key: SqlValue) -> sa.ColumnElement[bool]:
        """Whether a search finds the record with this key."""
        if not self._set.per_company:
            return key.in_(self._by_records(node.search, changed=None))
        changed = self._changed()
        unchanged = self._by_documents(node.search, changed)
        found = sa.union_all(unchanged, self._by_records(node.search, changed))
        return key.in_(self._dialect.computed_once(found))

    def text_matches(
        self, node: MatchesSearch, record: Mapping[str, SqlValue], froms: Sequence[sa.FromClause]
    ) -> sa.ColumnElement[bool]:
        """Whether a search finds the record with these columns of `froms`, by its text alone."""
        text = self._folded(record)
        if self._set.per_company:
            key = sa.cast(record[self._set.type.key], sa.Text)
            text = sa.func.coalesce(self._document_of(key, froms), text)
        # with an offset the database computes the text once, not once for each term
        texts = sa.select(text.label("folded")).correlate(*froms).limit(self._dialect.no_limit)
        computed = texts.offset(constant(0)).subquery()
        found = _found_in(node.search, computed.c.folded, self._contains)
        return sa.exists(sa.select(constant(1)).select_from(computed).where(found))

    @cached_property
    def texts(self) -> Prepared:
        """The texts of records whose last change is in a window: company, set, since, through."""
        changed = _changed_in_window(self._tables, self._as_key(self._tables.changes.c.record))
        statement = sa.select(self._key, self._folded(self._records.columns)).where(
            of_company(self._records.table),
            self._key.in_(changed),
            self._records.table.c[VERSION] <= named("through"),
        )
        names = (COMPANY, "changed_set", "since", "through")
        return prepare(statement, self._dialect.compiler, names)

    @cached_property
    def trimmed(self) -> Prepared:
        """The records whose last change is among some, in the order of these changes.

        The change, the document with its text, the key and the text of each: company, set, since,
        through, limit.
        """
        documents, records = self._tables.search_documents, self._records.table
        number, is_own = records.c[VERSION], of_company(records)
        is_next = is_own, number > named("since"), number <= named("through")
        next_ones = sa.select(self._key).where(*is_next).order_by(number).limit(whole("limit"))
        text = self._folded(self._records.columns)
        statement = sa.select(number, documents.c.document, documents.c.folded, self._key, text)
        is_set = of_company(documents), documents.c.entity_set == named("set")
        is_document = sa.and_(*is_set, documents.c.record == sa.cast(self._key, sa.Text))
        statement = statement.outerjoin_from(records, documents, is_document).order_by(number)
        # the texts are computed of these only
        statement = statement.where(is_own, self._key.in_(next_ones.offset(constant(0))))
        names = (COMPANY, "set", "since", "through", "limit")
        return prepare(statement, self._dialect.compiler, names)

    def _folded(self, columns: Mapping[str, SqlValue]) -> sa.ColumnElement[str]:
        """The text of a record's document, computed from the columns of the record."""
        text = self._dialect.functions["fold"](*[columns[name] for name in self._set.type.searched])
        return cast("sa.ColumnElement[str]", text)

    def _contains(self, text: sa.ColumnElement[str], term: Slot) -> sa.ColumnElement[bool]:
        found = self._dialect.functions["contains_literal"](text, slot_of(term))
        return cast("sa.ColumnElement[bool]", found)

    def _as_key(self, record: sa.ColumnElement[str]) -> SqlValue:
        """A record's key in the type of its column, from its text in change log and documents."""
        if isinstance(self._set.type.key_property.type.default, str):
            return cast("SqlValue", record)
        return cast("SqlValue", sa.cast(record, self._key.type))

    def _changed(self) -> sa.Select[str | int]:
        """The keys of the records that are changed but not indexed, as texts of the change log."""
        changes = self._tables.changes
        progress = sa.func.coalesce(self._progress(self._tables.search_marks.c.number), constant(0))
        first = progress + constant(1)
        logged = sa.select(changes.c.record.label("record")).where(
            of_company(changes),
            # without an upper bound, planners estimate a third of the log
            changes.c.number.between(first, constant(LAST_NUMBER)),
            changes.c.entity_set == constant_text(self.logged),
        )
        oldest = (
            sa.select(sa.func.min(changes.c.number)).where(of_company(changes)).scalar_subquery()
        )
        records = self._records.table
        is_trimmed = records.c[VERSION].between(first, oldest - constant(1))
        key = sa.cast(self._key, sa.Text).label("record")
        trimmed = sa.select(key).where(of_company(records), is_trimmed).offset(constant(0))
        # no record is read unless the log lacks changes
        most = sa.case((first < oldest, constant(LAST_NUMBER)), else_=constant(0))
        found = sa.union_all(logged, sa.select(trimmed.limit(most).subquery().c.record))
        return sa.select(found.subquery().c.record)

    def _by_documents(
        self, search: BoundSearch, changed: sa.Select[str | int]
    ) -> sa.Select[str | int]:
        """The keys of the records that a search finds by their documents."""
        documents = self._tables.search_documents
        first, last = self._scope()
        narrowed = self._dialect.candidates(search, first, last)
        numbers = (
            self._dialect.numbered(documents.c.document, first, last)
            if narrowed is None
            else documents.c.document.in_(narrowed)
        )
        return sa.select(self._as_key(documents.c.record)).where(
            of_company(documents),
            numbers,
            _found_in(search, documents.c.folded, self._dialect.contains),
            documents.c.record.not_in(changed),
        )

    def _by_records(
        self, search: BoundSearch, changed: sa.Select[str | int] | None
    ) -> sa.Select[str | int]:
        """The keys of the changed records that a search finds by their own texts."""
        text = self._folded(self._records.columns).label("folded")
        texts = sa.select(self._key.label("key"), text)
        if changed is not None:
            keys = self._dialect.computed_once(sa.select(self._as_key(changed.subquery().c.record)))
            texts = texts.where(of_company(self._records.table), self._key.in_(keys))
        # with an offset the database computes each text once, not once for each term
        computed = texts.limit(self._dialect.no_limit).offset(constant(0)).subquery()
        return sa.select(computed.c.key).where(_found_in(search, computed.c.folded, self._contains))

    def _document_of(
        self, record: sa.ColumnElement[str], froms: Sequence[sa.FromClause]
    ) -> sa.ScalarSelect[str]:
        """The text of the document of a record of `froms`, null if it is not current."""
        documents = self._tables.search_documents
        document = sa.select(documents.c.folded).where(
            of_company(documents),
            documents.c.entity_set == constant_text(self._set.name),
            documents.c.record == record,
            documents.c.document.between(*self._scope()),
            documents.c.record.not_in(self._changed()),
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
                marks.c.layout == constant_text(self.layout),
            )
            .scalar_subquery()
        )


def _found_in(
    search: BoundSearch, text: sa.ColumnElement[str], contains: Contains
) -> sa.ColumnElement[bool]:
    if isinstance(search, ContainsTerm):
        contained = contains(text, search.term)
        return sa.not_(contained) if search.negated else contained
    join = sa.and_ if search.operator == "and" else sa.or_
    return join(*[_found_in(each, text, contains) for each in search.operands])


def _changed_in_window(tables: Tables, column: SqlValue) -> sa.Select[str | int]:
    changes = tables.changes
    return sa.select(column).where(
        of_company(changes),
        changes.c.entity_set == named("changed_set"),
        changes.c.number > named("since"),
        changes.c.number <= named("through"),
    )


class TextIndexStatements:
    """Each statement's docstring ends with the values to bind, in order."""

    def __init__(self, model: Model, tables: Tables, dialect: Dialect) -> None:
        self._tables = tables
        self._compiler = dialect.compiler
        marks, documents = tables.search_marks, tables.search_documents
        of_set = of_company(marks), marks.c.entity_set == named("set")
        self.sets = {each: SearchedSet(each, tables, dialect) for each in model.per_company}
        """The indexes of the sets under a company."""

        progress = sa.select(marks.c.layout, marks.c.number, marks.c.scope).where(*of_set)
        self.progress = self._prepare(progress, COMPANY, "set")
        """The layout, number and scope of a set's index: company, set."""

        free_scope = sa.select(
            sa.func.coalesce(sa.func.max(marks.c.scope), constant(0)) + constant(1)
        )
        if not dialect.spans_companies:
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

        is_number = documents.c.document == named("document")
        drop = sa.delete(documents).where(of_company(documents), is_number)
        self.drop_document = self._prepare(drop, COMPANY, "document")
        """Drop a document: company, number."""

        self.add_document = self._add(documents)
        """Add a document: company, number, set, record, text."""

        self.documents = dialect
        """What adds and drops documents in the database's own index."""

    def _prepare(self, statement: ClauseElement, *names: str) -> Prepared:
        return prepare(statement, self._compiler, names)

    @cached_property
    def lags(self) -> Prepared:
        """The name of each set with records, and the number of changes its index lacks: company."""
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

    @cached_property
    def window(self) -> Prepared:
        """The numbers of the next changes of a set: company, set, since, through, limit."""
        number = self._tables.changes.c.number
        changes = first_rows(
            _changed_in_window(self._tables, number).order_by(number), whole("limit")
        )
        return self._prepare(changes, COMPANY, "changed_set", "since", "through", "limit")

    @cached_property
    def stale(self) -> Prepared:
        """Documents of records that changed: company, set, changed set, since, through."""
        documents = self._tables.search_documents
        changed = _changed_in_window(self._tables, self._tables.changes.c.record)
        statement = sa.select(documents.c.document, documents.c.folded).where(
            of_company(documents),
            documents.c.entity_set == named("set"),
            documents.c.record.in_(changed),
        )
        return self._prepare(statement, COMPANY, "set", "changed_set", "since", "through")

    @cached_property
    def last_document(self) -> Prepared:
        """The highest number of a scope's documents, or the one below its first: company, scope."""
        documents = self._tables.search_documents
        number, first = documents.c.document, named("scope") * constant(SCOPE_SIZE)
        last = sa.select(sa.func.coalesce(sa.func.max(number), first - constant(1))).where(
            of_company(documents), number >= first, number < first + constant(SCOPE_SIZE)
        )
        return self._prepare(last, COMPANY, "scope")
