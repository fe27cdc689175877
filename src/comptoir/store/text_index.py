"""Updates the text indexes of all sets, in the background.

A search is exact whatever the index contains, because the database compares records that changed
since they were indexed one by one. Writes do nothing for the index.
"""

from comptoir.edm.model import EntitySet
from comptoir.sql.prepared import Steps
from comptoir.store.unit import UnitOfWork

RECORDS = 100
"""The most records that a unit indexes; other writes wait for some milliseconds."""

CHANGES = 20_000
"""The most changes that a unit reads, of this set and of others."""

TOLERATED_LAG = 500
"""Changes since the index was up to date, after which they are indexed."""

INDEX_SECONDS = 5.0
"""Seconds between two looks for indexes that lack changes."""

BUSY_PAUSE = 9
"""The seconds that writers get for each second of a unit if they waited for it, else one."""

MANY_UNITS = 16
"""Units of indexing after which the statistics of the index are refreshed the first time."""


def index_some(
    entity_set: EntitySet, expected: int | None, unit: UnitOfWork
) -> Steps[tuple[int, int]]:
    """Index the next changed records of a set; returns its progress and how many changes are left.

    Stores the progress in the same transaction, so that several processes index different records.
    If it is not the `expected` one, another process indexes the set, and this one leaves it.
    """
    statements, company_id = unit.statements, unit.company_id
    index, indexed = statements.index, statements.index.sets[entity_set]
    rows = yield statements.service.ledger.query(company_id)
    if not rows:
        # the company is being copied again
        return 0, 0
    last = int(rows[0][0])
    rows = yield index.progress.query(company_id, indexed.name)
    if not rows:
        (free,) = yield index.free_scope.query(company_id)
        yield index.add_progress.query(company_id, indexed.name, indexed.layout, 0, *free)
        rows = [(indexed.layout, 0, *free)]
    layout, number, scope = rows[0]
    since = int(number) if layout == indexed.layout else 0
    if expected not in (None, since):
        return since, 0
    through = min(since + CHANGES, last)
    kept = yield statements.service.changes.query(company_id, since, 1)
    most, is_trimmed = RECORDS, bool(kept) and int(kept[0][0]) > since + 1
    if is_trimmed:
        # in few units, because each reads all records
        most, through = 10 * RECORDS, int(kept[0][0]) - 1
        rows = yield indexed.trimmed.query(company_id, indexed.name, since, through, most)
    else:
        rows = yield index.window.query(company_id, indexed.logged, since, through, most)
    if len(rows) == most:
        through = int(rows[-1][0])
    if rows:
        window = (company_id, indexed.logged, since, through)
        if is_trimmed:
            stale, texts = [row[1:3] for row in rows if row[1]], [row[3:] for row in rows]
        else:
            stale = yield index.stale.query(company_id, indexed.name, *window[1:])
            texts = yield indexed.texts.query(*window)
        # the text index is fastest with rising numbers
        highest = yield index.last_document.query(company_id, scope)
        if stale:
            dropped = sorted((int(number), str(text)) for number, text in stale)
            yield from index.documents.drop(dropped)
            yield index.drop_document.many((company_id, number) for number, _ in dropped)
        documents = [
            (company_id, number, indexed.name, str(key), text)
            for number, (key, text) in enumerate(texts, int(highest[0][0]) + 1)
        ]
        yield index.add_document.many(documents)
        yield from index.documents.add((number, text) for _, number, _, _, text in documents)
    if through > since or layout != indexed.layout:
        yield index.move_progress.query(company_id, indexed.name, indexed.layout, through)
    return through, last - through


def outdates_statistics(done: int, *, is_last: bool) -> bool:
    """Whether to refresh the planner's statistics of the index, after `done` units.

    A unit looks up the documents that it replaces, slowly by a plan for a small index.
    """
    return done >= MANY_UNITS and (is_last or done.bit_count() == 1)
