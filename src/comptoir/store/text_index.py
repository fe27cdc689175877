"""The unit of work that brings the text index of a set up to date, some records at a time.

It reads the change log from the set's mark, and moves the mark in the same transaction. So index
and mark agree however it ends, and several processes at once index different parts.
"""

from collections.abc import Generator

from comptoir.edm.model import EntitySet
from comptoir.plan.read import Row
from comptoir.sql.prepared import Statement
from comptoir.sql.statements import Statements
from comptoir.store.change import Steps
from comptoir.store.ledger import Ledger

RECORDS = 100
"""The most records that a unit indexes: other writes wait for some milliseconds."""

Window = tuple[str, str, int, int]
"""The changes that a unit reads: company, set, the number before the first, the last number."""

CHANGES = 20_000
"""The most changes that a unit reads, whether of this set or of others."""


def index_unit(
    company_id: str, entity_set: EntitySet, statements: Statements, _: Ledger
) -> Generator[Statement, list[Row], int]:
    """Index the next changed records of a set; returns how many changes are left."""
    marks, indexed = statements.index, statements.index.sets[entity_set]
    rows = yield statements.service.ledger.query(company_id)
    if not rows:
        # a copy of the company is under way again
        return 0
    last = int(rows[0][0])
    rows = yield marks.mark.query(company_id, indexed.name)
    if not rows:
        (free,) = yield marks.free_scope.query(company_id)
        yield marks.add_mark.query(company_id, indexed.name, indexed.layout, *free)
        rows = [(indexed.layout, 0, *free)]
    held, number, scope = rows[0]
    since = int(number) if held == indexed.layout else 0
    through = min(since + CHANGES, last)
    rows = yield marks.window.query(company_id, indexed.logged, since, through, RECORDS)
    if len(rows) == RECORDS:
        through = int(rows[-1][0])
    if rows:
        window = (company_id, indexed.logged, since, through)
        # the text index is fastest with rising numbers
        highest = yield marks.last_document.query(company_id, scope)
        yield from _drop(indexed.name, window, statements)
        texts = yield indexed.texts.query(*window)
        documents = [
            (company_id, number, indexed.name, str(key), text)
            for number, (key, text) in enumerate(texts, int(highest[0][0]) + 1)
        ]
        yield marks.add_document.many(documents)
        yield from marks.documents.add((number, text) for _, number, _, _, text in documents)
    if through > since or held != indexed.layout:
        yield marks.keep_mark.query(company_id, indexed.name, indexed.layout, through)
    return last - through


def _drop(name: str, window: Window, statements: Statements) -> Steps:
    """Drop the documents of the records that changed."""
    company_id = window[0]
    stale = yield statements.index.stale.query(company_id, name, *window[1:])
    if stale:
        documents = sorted((int(number), str(text)) for number, text in stale)
        yield from statements.index.documents.drop(documents)
        yield statements.index.drop_document.many((company_id, number) for number, _ in documents)
