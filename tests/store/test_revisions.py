"""Revisions: each declares the programs that its schema serves."""

from hashlib import sha256
from itertools import pairwise
from unicodedata import unidata_version

from alembic.script import ScriptDirectory
from sqlalchemy import create_engine
from sqlalchemy.pool import NullPool

from comptoir.catalog import MODEL
from comptoir.sql.dialects.postgresql.routines import routine_statements
from comptoir.store.revisions import alembic_config
from comptoir.store.schema import Revisions, revisions

ROUTINES = ("0013", "503b14e0e55fbb84f61334befcbe8e3c47b554ad19c15400819bf24b7cdee301")
"""The latest revision that changed routines, and the digest of their statements in `UNICODE`."""
UNICODE = "14.0.0"


def test_alembic_finds_the_same_revisions() -> None:
    with create_engine("sqlite://", poolclass=NullPool).connect() as connection:
        scripts = ScriptDirectory.from_config(alembic_config(connection, MODEL))
    found = {each.revision: each.module.serves for each in scripts.walk_revisions()}
    assert revisions() == Revisions(scripts.get_current_head() or "", found)


def test_a_revision_serves_itself_or_an_earlier_one_and_none_that_was_dropped() -> None:
    serves = revisions().serves
    ordered = sorted(serves.items())
    for revision, served in ordered:
        assert served in serves
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
        "unreleased, create another one (make migration NAME='…'), and enter it in ROUTINES with "
        f"{digest!r}"
    )
