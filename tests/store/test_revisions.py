"""Revisions: each declares the programs that its schema serves."""

from hashlib import sha256
from itertools import pairwise
from unicodedata import unidata_version

from sqlalchemy.dialects.sqlite import dialect
from sqlalchemy.schema import CreateIndex, CreateTable

from comptoir.catalog import MODEL
from comptoir.sql.dialects.postgresql.routines import routine_statements
from comptoir.store.revisions import declared_schema
from comptoir.store.schema import HEAD, SERVES

ROUTINES = ("0013", "503b14e0e55fbb84f61334befcbe8e3c47b554ad19c15400819bf24b7cdee301")
"""The latest revision that changed routines, and the digest of their statements in `UNICODE`."""
UNICODE = "14.0.0"

SCHEMA = ("0014", "f24e5d847c8751479ae42bcef156e3df86cf0bdb0b496d07aa0a4422ce62e8ae")
"""The latest revision, and the digest of the statements that create what it declares."""


def test_a_revision_serves_itself_or_an_earlier_one_and_none_that_was_dropped() -> None:
    ordered = sorted(SERVES.items())
    for revision, served in ordered:
        assert served in SERVES
        assert served <= revision
    for (_, before), (revision, after) in pairwise(ordered):
        assert before <= after, f"{revision} cannot serve the programs of {after}"


def test_changed_routines_need_a_revision() -> None:
    """The revision shows earlier programs whether they can use the routines."""
    # another version of Unicode has other case mappings
    if unidata_version != UNICODE:
        return
    digest = sha256("\n".join(routine_statements()).encode()).hexdigest()
    assert digest == ROUTINES[1], (
        f"the routines differ from those of revision {ROUTINES[0]}: unless that revision is "
        "unreleased, add another one to SERVES, and enter it in ROUTINES with "
        f"{digest!r}"
    )


def test_a_changed_schema_needs_a_revision() -> None:
    """The revision shows a program whether a database has what it declares."""
    tables = declared_schema(MODEL).sorted_tables
    statements = [str(CreateTable(each).compile(dialect=dialect())) for each in tables]
    for table in tables:
        for index in table.indexes:
            statements.append(str(CreateIndex(index).compile(dialect=dialect())))
    digest = sha256("\n".join(sorted(statements)).encode()).hexdigest()
    assert (HEAD, digest) == SCHEMA, (
        f"the declared schema differs from that of revision {SCHEMA[0]}: unless that revision is "
        "unreleased, add one to SERVES, and enter it in SCHEMA with its digest, and what it adds "
        f"in support/earlier.py: {digest!r}"
    )
