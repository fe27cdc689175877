"""Which traps a client has met, and whether it has recovered from them."""

import pytest

from comptoir.features.rehearsal.traps import (
    MOST_CLIENTS,
    MOST_OPEN,
    TRAPS,
    Recovery,
    Trap,
    TrapLine,
    TrapTally,
    TrapTarget,
)

A = TrapTarget("client:a", "PATCH", "/api/companies(1)/contactsExt(2)")


def line(tally: TrapTally, trap: Trap, client: str = A.client) -> TrapLine:
    (found,) = [each for each in tally.report()[client] if each.trap is trap]
    return found


def test_each_trap_is_described() -> None:
    assert TRAPS.keys() == set(Trap)
    for each in TRAPS.values():
        assert each.meaning.endswith(".")
        assert each.remedy.endswith(".")


def test_nothing_is_reported_about_an_unknown_client() -> None:
    tally = TrapTally()
    tally.ask(A, 1.0)
    tally.succeed(A)
    assert tally.report() == {}


def test_the_report_has_a_line_for_each_trap_also_for_those_not_met() -> None:
    tally = TrapTally()
    tally.meet(Trap.LOCK, A, 1.0, by_fault=True)
    lines = tally.report()[A.client]
    assert [each.trap for each in lines] == list(Trap)
    assert [each.trap for each in lines if each.met] == [Trap.LOCK]
    assert line(tally, Trap.STALE_TAG) == TrapLine(Trap.STALE_TAG)


@pytest.mark.parametrize("trap", [trap for trap, each in TRAPS.items() if each.is_visible])
def test_a_client_has_recovered_once_its_request_succeeds(trap: Trap) -> None:
    tally = TrapTally()
    tally.meet(trap, A, 1.0, by_fault=True)
    tally.meet(trap, A, 2.0, by_fault=False)
    assert line(tally, trap) == TrapLine(trap, 2, 1, 0, Recovery.NO)
    tally.succeed(TrapTarget(A.client, "GET", A.path))
    tally.succeed(TrapTarget("client:b", A.method, A.path))
    assert line(tally, trap).recovery is Recovery.NO
    tally.ask(A, 3.0)
    tally.succeed(A)
    assert line(tally, trap) == TrapLine(trap, 2, 1, 0, Recovery.YES)
    tally.meet(trap, A, 4.0, by_fault=False)
    assert line(tally, trap).recovery is Recovery.NO


@pytest.mark.parametrize("trap", [trap for trap, each in TRAPS.items() if not each.is_visible])
def test_nobody_sees_whether_a_client_has_recovered_from_others(trap: Trap) -> None:
    tally = TrapTally()
    tally.meet(trap, A, 1.0, by_fault=True)
    tally.succeed(A)
    assert line(tally, trap) == TrapLine(trap, 1, 1, 0, Recovery.UNKNOWN)


def test_a_request_before_the_end_of_retry_after_is_hasty() -> None:
    tally = TrapTally()
    tally.meet(Trap.THROTTLING, A, 10.0, by_fault=True, wait=2.0)
    tally.ask(A, 11.9)
    tally.succeed(A)
    assert line(tally, Trap.THROTTLING) == TrapLine(Trap.THROTTLING, 1, 1, 1, Recovery.NO)


def test_a_request_at_the_end_of_retry_after_is_patient() -> None:
    tally = TrapTally()
    tally.meet(Trap.THROTTLING, A, 10.0, by_fault=True, wait=2.0)
    tally.ask(A, 12.0)
    tally.succeed(A)
    assert line(tally, Trap.THROTTLING) == TrapLine(Trap.THROTTLING, 1, 1, 0, Recovery.YES)


def test_one_request_may_meet_several_traps() -> None:
    tally = TrapTally()
    tally.meet(Trap.EXPIRED_TOKEN, A, 1.0, by_fault=True)
    tally.meet(Trap.STALE_TAG, A, 2.0, by_fault=True)
    tally.succeed(A)
    assert line(tally, Trap.EXPIRED_TOKEN).recovery is Recovery.YES
    assert line(tally, Trap.STALE_TAG).recovery is Recovery.YES


def test_the_oldest_of_too_many_awaited_requests_has_not_recovered() -> None:
    tally = TrapTally()
    tally.meet(Trap.LOCK, A, 1.0, by_fault=True)
    others = [TrapTarget(A.client, "PATCH", f"/{number}") for number in range(MOST_OPEN)]
    for each in others:
        tally.meet(Trap.LOCK, each, 1.0, by_fault=True)
    for each in [A, *others]:
        tally.succeed(each)
    assert line(tally, Trap.LOCK) == TrapLine(
        Trap.LOCK, MOST_OPEN + 1, MOST_OPEN + 1, 0, Recovery.NO
    )


def test_the_first_of_too_many_clients_is_forgotten() -> None:
    tally = TrapTally()
    for number in range(MOST_CLIENTS + 1):
        tally.meet(Trap.LOCK, TrapTarget(f"client:{number}", "PATCH", "/"), 1.0, by_fault=False)
    report = tally.report()
    assert len(report) == MOST_CLIENTS
    assert "client:0" not in report
