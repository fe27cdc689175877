"""Deliveries are leased, repeated and given up as the specification says, on a given clock."""

from collections.abc import Callable, Sequence

from hypothesis import given
from hypothesis import strategies as st

from comptoir.features.notifications.delivery import LEASE_SECONDS, DeliveryCursor, Outcome, Retries
from comptoir.features.notifications.tables import LANES
from comptoir.outgoing import PostAnswer
from comptoir.sql.tables import COMPANY_ID

MINUTE = 60
RETRIES = Retries(
    tuple(float(each * MINUTE) for each in (1, 1, 10, 100, 1000)),
    frozenset([408, 429, *range(500, 600)]),
)
START = 1_700_000_000
NEW = DeliveryCursor("one", 0, 7)


def answered(status: int) -> PostAnswer:
    return PostAnswer(status, b"")


def test_a_lane_is_a_row_of_its_table() -> None:
    columns = [each.name for each in LANES.columns]
    assert [COMPANY_ID, *DeliveryCursor.__struct_fields__] == columns


def test_the_outcome_of_a_status() -> None:
    for status, outcome in (
        *((status, Outcome.DELIVERED) for status in (200, 201, 202, 204, 299)),
        *((status, Outcome.FAILED) for status in (408, 429, 500, 502, 503, 504, 599)),
        *((status, Outcome.REFUSED) for status in (100, 199, 300, 301, 302, 307, 308, 304)),
        *((status, Outcome.REFUSED) for status in (400, 401, 403, 404, 405, 410, 413, 499, 600)),
    ):
        assert RETRIES.outcome(answered(status)) is outcome


def test_a_wait_is_not_shortened_by_rounding() -> None:
    leased = NEW.leased("process", START + 0.25)
    assert leased is not None
    failed = leased.settled(Outcome.FAILED, 9, START + 0.25, RETRIES)
    assert failed is not None
    assert failed.due_at == START + MINUTE + 1


class Stored:
    """A stored lane, and the batches that its receiver got: first number before, and last."""

    def __init__(self) -> None:
        self.lane = DeliveryCursor("one", 0, 0)
        self.is_deleted = False
        self.got: list[tuple[int, int]] = []

    def lease(self, holder: str, now: float) -> DeliveryCursor | None:
        """What a unit of work does before an attempt."""
        leased = None if self.lane.due_at > now else self.lane.leased(holder, now)
        self.lane = leased or self.lane
        return leased

    def settle(self, leased: DeliveryCursor, outcome: Outcome, number: int, now: float) -> bool:
        """What a unit of work does after an attempt; returns whether that counts."""
        if self.lane != leased:
            return False
        settled = leased.settled(outcome, number, now, RETRIES)
        self.lane, self.is_deleted = settled or leased, settled is None
        return True


attempts = st.tuples(
    st.sampled_from(["one", "other"]),
    st.sampled_from([200, 200, 503, None]),
    st.integers(0, 2),
    st.sampled_from(["settle", "late", "crash"]),
    st.sampled_from([0, 10, LEASE_SECONDS, 700_000]),
)


@given(st.lists(attempts, max_size=40))
def test_no_change_is_skipped_and_none_repeated_without_a_loss(
    taken: Sequence[tuple[str, int | None, int, str, int]],
) -> None:
    """With two processes that may crash after a post, or come back after their lease."""
    stored, late = Stored(), list[Callable[[float], bool]]()
    now, position, has_loss = float(START), 0, False
    for holder, status, written, end, passes in taken:
        position += written
        leased = stored.lease(holder, now)
        if leased is not None and not stored.is_deleted and leased.cursor < position:
            answer = None if status is None else answered(status)
            outcome = RETRIES.outcome(answer)
            if outcome is Outcome.DELIVERED:
                stored.got.append((leased.cursor, position))

            def settle(
                at: float,
                leased: DeliveryCursor = leased,
                outcome: Outcome = outcome,
                to: int = position,
            ) -> bool:
                return stored.settle(leased, outcome, to, at)

            if end == "settle":
                assert settle(now)
            else:
                has_loss = True
                if end == "late":
                    late.append(settle)
        now += passes
        if passes >= LEASE_SECONDS:
            while late:
                late.pop()(now)

    reached = 0
    for before, last in stored.got:
        assert before <= reached, "a change was skipped"
        assert has_loss or before == reached, "a change was repeated"
        reached = max(reached, last)
    assert stored.is_deleted or stored.lane.cursor <= reached
