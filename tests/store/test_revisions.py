"""Revisions: each declares the programs that its schema serves."""

from itertools import pairwise

from alembic.script import ScriptDirectory
from sqlalchemy import create_engine
from sqlalchemy.pool import NullPool

from comptoir.catalog import MODEL
from comptoir.config import Settings
from comptoir.store.migration import migrate
from comptoir.store.revisions import alembic_config
from comptoir.store.schema import Revisions, revisions, state_of
from support.databases import in_database

ROUTINES = ("0004", "bcafb2e8471b7553f229c14e4d1fe6cf4f43291274d9a7f5dd2bcffc983b1df4")
"""The latest revision with changed routines, and their digest with this Unicode."""
UNICODE = "14.0.0"


def test_alembic_finds_the_same_revisions() -> None:
    with create_engine("sqlite://", poolclass=NullPool).connect() as connection:
        scripts = ScriptDirectory.from_config(alembic_config(connection, MODEL))
    found = {each.revision: each.module.serves for each in scripts.walk_revisions()}
    assert revisions() == Revisions(scripts.get_current_head() or "", found)


def test_every_revision_serves_itself_or_an_earlier_revision() -> None:
    for revision, serves in revisions().serves.items():
        assert serves in revisions().serves
        assert serves <= revision


def test_no_revision_serves_programs_that_an_earlier_one_dropped() -> None:
    ordered = sorted(revisions().serves.items())
    for (_, before), (revision, after) in pairwise(ordered):
        assert before <= after, f"{revision} cannot serve the programs of {after}"


def test_changed_routines_need_a_revision(postgres_url: str) -> None:
    """Earlier programs then know whether the routines suit them, and later ones have them."""
    migrate(Settings(database=postgres_url), MODEL)
    found = in_database(postgres_url, state_of)
    revision, digest = ROUTINES
    # another version of Unicode means other rules of case within them
    if found.unicode != UNICODE:
        return
    assert found.routines == digest, (
        f"the routines are not those of revision {revision} any more: unless that one is still to "
        f"be released, write another (make migration NAME='…'), and put it here with "
        f"{found.routines!r}"
    )
