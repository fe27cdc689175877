"""Statements that bring the search index up to the change log, some records at a time."""

from dataclasses import dataclass

from sqlalchemy import ColumnElement, Select, delete, func, insert, select, update
from sqlalchemy.sql import ClauseElement

from comptoir.edm.model import EntitySet, Model
from comptoir.sql.dialects import Dialect
from comptoir.sql.prepared import Prepared, constant, named, prepare, prepare_insert, whole
from comptoir.sql.searches import SCOPE_SIZE, as_key, folded, layout, logged_set
from comptoir.sql.tables import COMPANY_ID, VERSION, Tables


@dataclass(frozen=True, slots=True)
class Indexed:
    """How a set is indexed: under whose name its changes are logged, what its texts are made of."""

    name: str
    logged: str
    layout: str
    texts: Prepared
    """The texts of records that changed, and not again: company, set, since, through."""


class IndexStatements:
    """Each statement's line says what it is for, and the values to bind, in order."""

    def __init__(self, model: Model, tables: Tables, dialect: Dialect) -> None:
        self._tables = tables
        self._compiler = dialect.compiler
        self._spans_companies = dialect.index.spans_companies
        self.sets = {
            each: Indexed(
                each.name, logged_set(each), layout(each, dialect), self._texts(each, dialect)
            )
            for each in model.per_company
        }
        """How the sets under a company are indexed."""

        self.mark = self._mark()
        """A set's mark: company, set; its layout, number and scope."""

        self.lag = self._lag()
        """How many changes a company has behind a mark: company, set, layout."""

        self.free_scope = self._free_scope()
        """A scope that no set has: company."""

        self.add_mark = self._add_mark()
        """Begin a set with a scope of its own: company, set, layout, scope."""

        self.keep_mark = self._keep_mark()
        """Move a mark: company, set, layout, number."""

        self.window = self._window()
        """The next changes of a set: company, set, since, through, limit; their numbers."""

        self.stale = self._stale()
        """Documents of records that changed: company, set, changed set, since, through."""

        self.drop_document = self._drop_document()
        """Drop a document: company, number."""

        self.last_document = self._last_document()
        """The highest number of a scope's documents, or the one below its first: company, scope."""

        self.add_document = self._add_document()
        """Keep a document: company, number, set, record, text."""

        self.documents = dialect.index
        """The index over the documents."""

    def _made(self, statement: ClauseElement, *names: str) -> Prepared:
        return prepare(statement, self._compiler, names)

    def _of_set(self) -> list[ColumnElement[bool]]:
        marks = self._tables.search_marks
        return [marks.c[COMPANY_ID] == named("company"), marks.c.entity_set == named("set")]

    def _mark(self) -> Prepared:
        marks = self._tables.search_marks.c
        statement = select(marks.layout, marks.number, marks.scope).where(*self._of_set())
        return self._made(statement, "company", "set")

    def _lag(self) -> Prepared:
        companies, marks = self._tables.companies, self._tables.search_marks.c
        mark = select(marks.number).where(*self._of_set(), marks.layout == named("layout"))
        statement = select(
            companies.c.change_number - func.coalesce(mark.scalar_subquery(), constant(0))
        ).where(companies.c[COMPANY_ID] == named("company"))
        return self._made(statement, "company", "set", "layout")

    def _free_scope(self) -> Prepared:
        marks = self._tables.search_marks.c
        statement = select(func.coalesce(func.max(marks.scope), constant(0)) + constant(1))
        if not self._spans_companies:
            statement = statement.where(marks[COMPANY_ID] == named("company"))
        return self._made(statement, "company")

    def _add_mark(self) -> Prepared:
        statement = insert(self._tables.search_marks).values(
            {
                COMPANY_ID: named("company"),
                "entity_set": named("set"),
                "layout": named("set_layout"),
                "number": constant(0),
                "scope": named("set_scope"),
            }
        )
        return self._made(statement, "company", "set", "set_layout", "set_scope")

    def _keep_mark(self) -> Prepared:
        statement = (
            update(self._tables.search_marks)
            .where(*self._of_set())
            .values(layout=named("set_layout"), number=named("set_number"))
        )
        return self._made(statement, "company", "set", "set_layout", "set_number")

    def _changed(self) -> Select[tuple[str]]:
        changes = self._tables.changes.c
        return select(changes.record).where(
            changes[COMPANY_ID] == named("company"),
            changes.entity_set == named("changed_set"),
            changes.number > named("since"),
            changes.number <= named("through"),
        )

    def _window(self) -> Prepared:
        number = self._tables.changes.c.number
        statement = (
            self._changed()
            .with_only_columns(number)
            .order_by(number)
            .limit(whole("limit"))
            .offset(constant(0))
        )
        return self._made(statement, "company", "changed_set", "since", "through", "limit")

    def _stale(self) -> Prepared:
        documents = self._tables.search_documents.c
        statement = select(documents.document, documents.folded).where(
            documents[COMPANY_ID] == named("company"),
            documents.entity_set == named("set"),
            documents.record.in_(self._changed()),
        )
        return self._made(statement, "company", "set", "changed_set", "since", "through")

    def _drop_document(self) -> Prepared:
        documents = self._tables.search_documents
        statement = delete(documents).where(
            documents.c[COMPANY_ID] == named("company"),
            documents.c.document == named("document"),
        )
        return self._made(statement, "company", "document")

    def _texts(self, entity_set: EntitySet, dialect: Dialect) -> Prepared:
        records = self._tables.records[entity_set.name]
        key = records.columns[entity_set.type.key]
        spelled = as_key(entity_set, self._tables, self._tables.changes.c.record)
        statement = select(key, folded(entity_set, self._tables, dialect)).where(
            records.table.c[COMPANY_ID] == named("company"),
            key.in_(self._changed().with_only_columns(spelled)),
            records.table.c[VERSION] <= named("through"),
        )
        return self._made(statement, "company", "changed_set", "since", "through")

    def _last_document(self) -> Prepared:
        documents = self._tables.search_documents.c
        first = named("scope") * constant(SCOPE_SIZE)
        statement = select(func.coalesce(func.max(documents.document), first - constant(1))).where(
            documents[COMPANY_ID] == named("company"),
            documents.document >= first,
            documents.document < first + constant(SCOPE_SIZE),
        )
        return self._made(statement, "company", "scope")

    def _add_document(self) -> Prepared:
        documents = self._tables.search_documents
        return prepare_insert(documents, [each.name for each in documents.columns], self._compiler)
