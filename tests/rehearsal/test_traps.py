"""Which traps a client has met, and whether it has recovered from them."""

from time import monotonic

from comptoir.features.rehearsal.entries import Trap, TrapLine
from comptoir.features.rehearsal.faults import parse_fault
from comptoir.features.rehearsal.traffic import MOST_CLIENTS, MOST_OPEN, Traffic, TrapTarget
from comptoir.http.redaction import Redactor
from support.together import together

A = TrapTarget("client:a", "PATCH", "/api/companies(1)/contactsExt(2)")
VISIBLE = [each for each in Trap if each.is_visible]


def line(traffic: Traffic, trap: Trap) -> TrapLine:
    (found,) = [each for each in traffic.report()[A.client] if each.trap == trap]
    return found


def counted(trap: Trap, met: int, by_fault: int, too_early: int, recovered: str | None) -> TrapLine:
    return TrapLine(trap, trap.meaning, trap.remedy, met, by_fault, too_early, recovered)


def test_each_trap_is_described() -> None:
    for each in Trap:
        assert each.meaning.endswith(".")
        assert each.remedy.endswith(".")


@together(
    ("fault", "traps"),
    [
        ("throttle", "throttling"),
        ("away; kind=json", ""),
        ("away; kind=502", "gateway-page"),
        ("away; kind=html; window=600", "gateway-page update-window"),
        ("timeout", ""),
        ("timeout; status=504; phase=after", "gateway-page lost-answer"),
        ("reset", "lost-answer"),
        ("stale-read", "stale-read"),
        ("lock", "lock"),
        ("link-expired", "expired-link"),
        ("token-expired", "expired-token"),
        ("hook", "repeated-notification"),
        ("hook; mode=drop", ""),
        ("batch-rollback", "batch-rolled-back"),
        ("body", ""),
        ("body; kind=xml", "gateway-page"),
    ],
)
def test_a_fault_leads_a_client_into_traps(fault: str, traps: str) -> None:
    assert " ".join(parse_fault(fault, "here").traps()) == traps


def test_the_report_has_a_line_for_each_trap_also_for_those_not_met() -> None:
    traffic = Traffic(Redactor(()), monotonic)
    traffic.meet(Trap.LOCK, A, by_fault=True)
    lines = traffic.report()[A.client]
    assert [each.trap for each in lines] == list(Trap)
    assert [each.trap for each in lines if each.met] == [Trap.LOCK]
    assert line(traffic, Trap.STALE_TAG) == counted(Trap.STALE_TAG, 0, 0, 0, None)


@together("trap", VISIBLE)
def test_a_client_has_recovered_once_its_request_succeeds(trap: Trap) -> None:
    traffic = Traffic(Redactor(()), monotonic)
    traffic.meet(trap, A, by_fault=True)
    traffic.meet(trap, A)
    assert line(traffic, trap) == counted(trap, 2, 1, 0, "no")
    traffic.succeed(TrapTarget(A.client, "GET", A.path))
    traffic.succeed(TrapTarget("client:b", A.method, A.path))
    assert line(traffic, trap).recovered == "no"
    traffic.ask(A)
    traffic.succeed(A)
    assert line(traffic, trap) == counted(trap, 2, 1, 0, "yes")
    traffic.meet(trap, A)
    assert line(traffic, trap).recovered == "no"


@together("trap", sorted(set(Trap) - set(VISIBLE)))
def test_nobody_sees_whether_a_client_has_recovered_from_others(trap: Trap) -> None:
    traffic = Traffic(Redactor(()), monotonic)
    traffic.meet(trap, A, by_fault=True)
    traffic.succeed(A)
    assert line(traffic, trap) == counted(trap, 1, 1, 0, "unknown")


def test_one_request_may_meet_several_traps() -> None:
    traffic, traps = Traffic(Redactor(()), monotonic), (Trap.EXPIRED_TOKEN, Trap.STALE_TAG)
    for trap in traps:
        traffic.meet(trap, A, by_fault=True)
    traffic.succeed(A)
    assert [line(traffic, trap).recovered for trap in traps] == ["yes", "yes"]


def test_the_oldest_of_too_many_awaited_requests_has_not_recovered() -> None:
    traffic = Traffic(Redactor(()), monotonic)
    traffic.meet(Trap.LOCK, A, by_fault=True)
    others = [TrapTarget(A.client, "PATCH", f"/{number}") for number in range(MOST_OPEN)]
    for each in others:
        traffic.meet(Trap.LOCK, each, by_fault=True)
    for each in [A, *others]:
        traffic.succeed(each)
    assert line(traffic, Trap.LOCK) == counted(Trap.LOCK, MOST_OPEN + 1, MOST_OPEN + 1, 0, "no")


def test_the_first_of_too_many_clients_is_forgotten() -> None:
    traffic = Traffic(Redactor(()), monotonic)
    for number in range(MOST_CLIENTS + 1):
        traffic.meet(Trap.LOCK, TrapTarget(f"client:{number}", "PATCH", "/"))
    report = traffic.report()
    assert len(report) == MOST_CLIENTS
    assert "client:0" not in report
