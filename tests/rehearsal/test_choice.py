"""Which requests meet a fault: by match, count, probability and window, the same for a seed."""

import re
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comptoir.catalog import MODEL
from comptoir.features.rehearsal.documents import parse_header, parse_rule, parse_rules
from comptoir.features.rehearsal.fault import Candidate, Stage
from comptoir.features.rehearsal.faults import FAULTS
from comptoir.features.rehearsal.rules import (
    PRESETS,
    Rule,
    RuleState,
    ShiftedClock,
    fraction,
    path_matches,
)
from support.together import together

SETS = MODEL.sets
START = 1_000.0


def clock() -> ShiftedClock:
    return ShiftedClock(lambda: START)


def rules(*texts: str) -> tuple[Rule, ...]:
    return parse_rules(f'{{"rules": [{", ".join(texts)}]}}'.encode(), SETS)


def chooser(*texts: str) -> RuleState:
    return RuleState(rules(*texts), clock())


def asked(
    client: str = "client:a",
    method: str = "GET",
    path: str = "/api/companies(1)/contactsExt",
    entity_set: str = "contactsExt",
    stage: Stage = Stage.REQUEST,
) -> Candidate:
    return Candidate(method, path, entity_set, client, stage, page=2, is_record=True)


def hits(chooser: RuleState, requests: int, client: str = "client:a") -> list[int]:
    """The numbers of the requests that meet a fault, from 1."""
    return [each for each in range(1, requests + 1) if chooser.choose(asked(client)) is not None]


WRITTEN = [
    "throttle; retry-after=2",
    "throttle; retry-after=date",
    "throttle; retry-after=none",
    "away; kind=json; retry-after=30",
    "away; kind=html; window=600",
    "away; kind=502",
    "slow; seconds=0.25; kind=first-byte",
    "slow; kind=drip",
    "timeout; status=408; phase=before",
    "timeout; status=504; phase=after; seconds=3",
    "reset; phase=before",
    "reset; phase=after",
    "reset; phase=body; bytes=100",
    "stale-read; lag=3; reads=readonly",
    "stale-read; seconds=5; reads=all",
    "touch; field=displayName",
    "lock",
    "link-expired; page=2",
    "page-shift; n=-2",
    "token-expired; by=service",
    "token-expired; by=gateway",
    "rights-lost",
    "hook; mode=duplicate",
    "hook; mode=reorder",
    "hook; mode=delay; seconds=90",
    "hook; mode=drop",
    "hook; mode=drop-subscription",
    "hook; mode=collection",
    "batch-rollback; index=2",
    "body; kind=truncated",
    "body; kind=xml",
    "body; kind=empty",
    "vanish",
]
"""The faults of the specification, each with its parameters."""


def test_the_examples_have_each_fault_and_each_of_its_parameters() -> None:
    found = {each.partition(";")[0] for each in WRITTEN}
    assert found == FAULTS.keys()
    for name, fault_type in FAULTS.items():
        texts = "; ".join(each for each in WRITTEN if each.partition(";")[0] == name)
        for parameter, form in fault_type.parameters.items():
            assert f"{parameter}=" in texts
            assert form.meaning.endswith(".")
            assert all(f"{parameter}={word}" in texts for word in form.words if name != "away")
        assert fault_type.meaning.endswith(".")


@together("text", WRITTEN)
def test_each_fault_is_written_and_chosen(text: str) -> None:
    rule = parse_rule(f'{{"id": "r", "fault": "{text}"}}'.encode(), "r", SETS)
    fault_type = rule.fault
    assert set(text.split("; ")) <= set(rule.fault.text.split("; "))
    method = "PATCH" if "PATCH" in fault_type.methods else "GET"
    request = asked(method=method, stage=fault_type.stage)
    choice = RuleState([rule], clock()).choose(request)
    assert choice is not None
    assert (choice.rule, choice.number) == (rule, 1)
    for stage in set(Stage) - {fault_type.stage}:
        assert RuleState([rule], clock()).choose(asked(method=method, stage=stage)) is None


def test_a_fault_acts_only_where_it_can() -> None:
    for name in (name for name, each in FAULTS.items() if each.methods):
        for method in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"):
            choice = chooser(f'{{"fault": "{name}"}}').choose(asked(method=method))
            assert (choice is not None) == (method in FAULTS[name].methods)
            if not FAULTS[name].remembers:
                of_header = RuleState([], clock()).choose(asked(method=method), parse_header(name))
                assert (of_header is not None) == (method in FAULTS[name].methods)


def test_a_fault_acts_only_on_what_it_is_about() -> None:
    """On an entity set, a record of one, or a page of a list."""
    for fault in (
        "lock",
        "rights-lost",
        "vanish",
        "stale-read",
        "touch",
        "link-expired",
        "page-shift",
    ):
        method = "PATCH" if fault == "lock" else "GET"
        service_document = Candidate(method, "/api/", "", "client:a")
        assert chooser(f'{{"fault": "{fault}"}}').choose(service_document) is None
        assert chooser(f'{{"fault": "{fault}"}}').choose(asked(method=method)) is not None


@given(st.text("ab*", max_size=12), st.text("ab", max_size=12))
def test_a_star_is_any_text(pattern: str, path: str) -> None:
    wanted = re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), path)
    assert path_matches(pattern, path) == (wanted is not None)


def test_many_stars_and_a_long_path_are_compared_at_once() -> None:
    # backtracking over ten stars would not end
    assert not path_matches("*a" * 9 + "*b", "a" * 1_000_000)


def test_a_fraction_is_that_of_the_specification() -> None:
    # the first eight bytes of SHA-256 of "7", "throttled" and "1", on a line each
    assert fraction(7, "throttled", 1) == 0.961322851664716


def rare(seed: int, rule_id: str = "r") -> str:
    return f'{{"id": "{rule_id}", "fault": "throttle", "probability": 0.25, "seed": {seed}}}'


def test_a_seed_gives_the_same_faults_again() -> None:
    patterns = {seed: hits(chooser(rare(seed)), 200) for seed in range(30)}
    assert {seed: hits(chooser(rare(seed)), 200) for seed in range(30)} == patterns
    assert len({tuple(each) for each in patterns.values()}) == 30
    share = sum(map(len, patterns.values())) / (30 * 200)
    assert 0.23 < share < 0.27


def test_rules_of_one_seed_differ() -> None:
    assert hits(chooser(rare(1, "a")), 100) != hits(chooser(rare(1, "b")), 100)


@given(st.integers(0, 2**63 - 1), st.lists(st.sampled_from(["a", "b", "c"]), max_size=60))
def test_parallel_clients_do_not_disturb_each_other(seed: int, arrivals: Sequence[str]) -> None:
    mixed = chooser(rare(seed))
    met = [(client, mixed.choose(asked(client)) is not None) for client in arrivals]
    for client in set(arrivals):
        alone = chooser(rare(seed))
        of_client = [is_met for each, is_met in met if each == client]
        assert [alone.choose(asked(client)) is not None for _ in of_client] == of_client


def test_the_first_rule_that_is_due_acts() -> None:
    both = chooser('{"fault": "throttle", "times": 1}', '{"fault": "vanish", "times": 1}')
    names = [each and each.rule.fault.name for each in (both.choose(asked()) for _ in range(3))]
    assert names == ["throttle", "vanish", None]


def test_a_rule_does_not_change_which_requests_another_counts() -> None:
    alone = hits(chooser(rare(5)), 100)
    after_another = chooser('{"id": "first", "fault": "vanish", "match": {"nth": 2}}', rare(5))
    numbers = [each for each in range(1, 101) if _name(after_another) == "throttle"]
    assert numbers == [each for each in alone if each % 2]


def _name(chooser: RuleState) -> str:
    choice = chooser.choose(asked())
    return "" if choice is None else choice.rule.fault.name


def test_the_header_comes_before_rules_and_is_not_counted() -> None:
    second = chooser('{"fault": "vanish", "match": {"nth": 2}}')
    header = parse_header("throttle")
    for _ in range(3):
        choice = second.choose(asked(), header)
        assert choice is not None
        assert choice.rule is header
    assert hits(second, 2) == [2]


@pytest.fixture
def few_kept(monkeypatch: pytest.MonkeyPatch) -> int:
    """The most counts of headers that are kept, instead of 20,000."""
    monkeypatch.setattr("comptoir.features.rehearsal.rules.MOST_KEPT", 50)
    return 50


def test_counts_are_bounded_and_keys_do_not_displace_those_of_rules(few_kept: int) -> None:
    once = chooser('{"fault": "vanish", "times": 1}')
    assert hits(once, 1) == [1]
    for number in range(few_kept + 1):
        once.choose(asked(), parse_header(f"throttle; times=1; key=k{number}"))
    assert hits(once, 1) == []
    assert once.choose(asked(), parse_header("throttle; times=1; key=k0")) is not None
    last = parse_header(f"throttle; times=1; key=k{few_kept}")
    assert once.choose(asked(), last) is None


def test_the_least_recent_key_is_forgotten(few_kept: int) -> None:
    none = chooser()
    first = parse_header("throttle; times=1; key=k0")
    assert none.choose(asked(), first) is not None
    for number in range(1, few_kept):
        none.choose(asked(), parse_header(f"throttle; times=1; key=k{number}"))
    assert none.choose(asked(), first) is None
    none.choose(asked(), parse_header("throttle; times=1; key=one-more"))
    assert none.choose(asked(), first) is None


def test_a_window_is_met_by_every_client_until_its_end() -> None:
    time = clock()
    away = RuleState(
        rules('{"fault": "away; window=600", "times": 1, "match": {"set": "contactsExt"}}'), time
    )
    other = asked("client:b", "POST", "/api/companies", "")
    assert away.choose(other) is None
    assert away.choose(asked()) is not None
    time.advance(599)
    assert away.choose(other) is not None
    assert away.choose(asked(stage=Stage.DELIVERY)) is None
    time.advance(1)
    assert away.choose(other) is None
    assert hits(away, 3, "client:b") == []


def test_an_update_night_goes_through_its_stages() -> None:
    time = clock()
    night = RuleState(PRESETS["update-night"], time)
    assert [_name(night) for _ in range(3)] == ["away"] * 3
    time.advance(600)
    assert [_name(night) for _ in range(7)] == ["token-expired", *["vanish"] * 5, ""]
    choice = night.choose(asked("client:b"))
    assert choice is not None
    assert choice.rule.fault.name == "token-expired"


def test_a_bad_day_has_each_of_its_faults() -> None:
    day = RuleState(parse_rules(b'{"preset": "bad-day", "seed": 7}', SETS), clock())
    names = [_name(day) for _ in range(5_000)]
    for name, share in (("throttle", 0.02), ("away", 0.01), ("reset", 0.01), ("touch", 0.02)):
        assert share / 2 < names.count(name) / len(names) < share * 2
    notified = day.choose(asked(stage=Stage.DELIVERY))
    assert notified is not None
    assert notified.rule.fault.text == "hook; mode=duplicate"


def test_a_monday_is_slow_and_crowded() -> None:
    monday = RuleState(PRESETS["monday"], clock())
    names = [_name(monday) for _ in range(400)]
    assert names.count("slow") > 100
    assert 20 < names.count("throttle") < 80
