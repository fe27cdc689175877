"""Changes are folded into notifications as the specification says, in the order of the log."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from comptoir.edm.times import instant
from comptoir.features.notifications.notifications import COLLECTION, Fold, Notification
from comptoir.store.ledger import CREATE, DELETE, UPDATE, Change

START = datetime(2026, 1, 31, 12, tzinfo=UTC)
CHANGE_TYPES = {CREATE: "created", UPDATE: "updated", DELETE: "deleted"}


def at(seconds: float) -> str:
    return instant(START + timedelta(seconds=seconds))


def history(*steps: tuple[str, str]) -> list[Change]:
    """A change each second, from the number 11 on: verb and record."""
    return [
        Change(number, "itemsExt", record, verb, at(number), "me")
        for number, (verb, record) in enumerate(steps, start=11)
    ]


def plainly(changes: Sequence[Change], most: int) -> list[Notification]:
    """The specification's sentences, one after the other, without regard to memory and time."""
    left: list[Change] = []
    for change in changes:
        of_record = [each for each in left if each.record == change.record]
        if change.verb == UPDATE and of_record and of_record[-1].verb == UPDATE:
            left.remove(of_record[-1])
        left.append(change)
        if len(left) > most:
            first = datetime.fromisoformat(changes[0].at)
            deleted = any(each.verb == DELETE for each in changes)
            since = "" if deleted else instant(first - timedelta(milliseconds=50))
            return [Notification(COLLECTION, "", changes[-1].at, since)]
    return [Notification(CHANGE_TYPES[each.verb], each.record, each.at) for each in left]


steps = st.tuples(
    st.sampled_from([CREATE, UPDATE, UPDATE, UPDATE, DELETE]), st.sampled_from("ABCD")
)


@given(st.lists(steps, max_size=40), st.integers(1, 8), st.integers(1, 10))
def test_it_is_as_the_specification_says(
    taken: list[tuple[str, str]], most: int, size: int
) -> None:
    """However the changes are sliced, and also if a tally replaces the rest of a collection's."""
    changes = history(*taken)
    by_slices, with_tally = Fold(most), Fold(most)
    for start in range(0, len(changes), size):
        by_slices.add(changes[start : start + size])
    for start in range(0, len(changes), size):
        if with_tally.is_collection:
            deleted = any(each.verb == DELETE for each in changes[start:])
            with_tally.note(changes[-1].at, has_deletion=deleted)
            break
        with_tally.add(changes[start : start + size])

    expected = plainly(changes, most)
    for fold in (by_slices, with_tally):
        assert fold.notifications() == expected
        assert fold.is_collection == any(each.change_type == COLLECTION for each in expected)


@given(st.lists(steps, max_size=40))
def test_nothing_is_lost(taken: list[tuple[str, str]]) -> None:
    """Each record's last notification is of its last change, and they are in order."""
    changes, fold = history(*taken), Fold(1_000)
    fold.add(changes)
    found = fold.notifications()
    assert [each.at for each in found] == sorted({each.at for each in found})
    last = {each.record: (CHANGE_TYPES[each.verb], each.at) for each in changes}
    assert {each.record: (each.change_type, each.at) for each in found} == last
    assert [(each.record, each.at) for each in found if each.change_type != "updated"] == [
        (each.record, each.at) for each in changes if each.verb != UPDATE
    ]
