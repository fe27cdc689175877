"""Revisions: each says which programs the schema that it makes serves."""

from itertools import pairwise

from comptoir.store.schema import revisions


def test_every_revision_serves_the_programs_of_a_known_revision_that_is_not_later() -> None:
    for revision, serves in revisions().serves.items():
        assert serves in revisions().serves
        assert serves <= revision


def test_no_revision_serves_again_what_one_before_it_left_behind() -> None:
    ordered = sorted(revisions().serves.items())
    for (_, before), (revision, after) in pairwise(ordered):
        assert before <= after, f"{revision} cannot serve the programs of {after}"
