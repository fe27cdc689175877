"""Whatever clients do, in whatever order, the service holds what a model in plain Python holds."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from typing import TypeVar

import httpx
import msgspec
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from hypothesis.strategies import SearchStrategy

from comptoir.store.ledger import Change
from support import history
from support.batches import documents, replies
from support.client import Record, encoded, page, pages, record, tag_of
from support.contract import assert_follows, without_control
from support.effort import examples
from support.evaluator import Operand
from support.mirror import Mirror
from support.model import ENTITY_RULES, CompanyModel, Entry, Outcome, Refused, Values, Write
from support.random_batches import Received, Stage, entries, made_key, outcomes, staged
from support.random_operations import (
    PICKS,
    Move,
    Query,
    Resources,
    Step,
    batches,
    conditions,
    creates,
    moves,
    queries,
)
from support.refusals import error_in, refusal
from support.repeats import essence, repeatable
from support.request_targets import RequestTargets, address_of, answered, asked, holds, path_to
from support.service import Service
from support.tokens import SUBJECT

T = TypeVar("T")

SIZES = st.integers(1, 4)
MIRRORS = 3
RESOURCES_TO_DRAW = [*sorted(ENTITY_RULES), "contactsExt", "contactsExt"]
"""Most is to be decided of contacts."""


@dataclass(frozen=True)
class Sent:
    """A repeatable write that was done, and what its answers have in common."""

    request: httpx.Request
    essence: tuple[int, dict[str, str], bytes]


@dataclass(frozen=True)
class Followed:
    """A mirror of the records of an entity set for which a condition holds."""

    mirror: Mirror
    resource: str
    condition: Operand | None


def of_its_kinds(strategy: Callable[[Resources], SearchStrategy[T]]) -> SearchStrategy[T]:
    """The values of a strategy for the entity sets of a machine."""
    machines: SearchStrategy[Clients] = st.runner()
    return machines.flatmap(lambda machine: strategy(machine.resources))


class Clients(RuleBasedStateMachine):
    """Clients of a company, and the model of it."""

    def __init__(self, service: Service) -> None:
        super().__init__()
        self.company = service.new_company()
        self.model = CompanyModel()
        self.targets = RequestTargets(self.model)
        self.resources: Resources = ()
        self.followed: list[Followed] = []
        self.repeatable: list[Sent] = []
        self.versions: dict[tuple[str, str, int | None], history.Values] = {}
        """The records that were seen, by their sets, keys and versions."""

    @initialize(
        resources=st.lists(st.sampled_from(RESOURCES_TO_DRAW), min_size=1, max_size=2, unique=True),
        data=st.data(),
    )
    def begin(self, resources: list[str], data: st.DataObject) -> None:
        """With few entity sets, more happens to each."""
        self.resources = tuple(resources)
        for resource in resources:
            for move in data.draw(st.lists(creates(resource), min_size=1, max_size=3)):
                self.write(move)

    @rule(
        several=of_its_kinds(lambda resources: st.lists(moves(resources), min_size=2, max_size=4))
    )
    def write_one_after_another(self, several: Sequence[Move]) -> None:
        """Between two looks at the records and the changes, there are several."""
        for move in several:
            self.write(move)

    def write(self, move: Move) -> None:
        write = self.targets.write(move)
        self._check(write, self.company.carrier.send(self._request(write)))

    @rule(move=of_its_kinds(moves), times=st.integers(2, 3))
    def write_again_and_again(self, move: Move, times: int) -> None:
        """What succeeds is done once; what is refused is decided again, and refused again."""
        write = self.targets.write(move, repeats=True)
        request = self._request(write)
        answers = [self.company.carrier.send(request) for _ in range(times)]
        for answer in answers:
            self._check(write, answer)
        if answers[0].is_success:
            assert [essence(each) for each in answers] == [essence(answers[0])] * times
            self.repeatable.append(Sent(request, essence(answers[0])))

    @rule(pick=PICKS)
    def repeat_a_write_of_long_ago(self, pick: int) -> None:
        """No precondition, since what was done may differ from run to run: see `write_at_once`."""
        if self.repeatable:
            sent = self.repeatable[pick % len(self.repeatable)]
            assert essence(self.company.carrier.send(sent.request)) == sent.essence

    @rule(batch=of_its_kinds(batches), repeats=st.booleans())
    def send_a_batch(self, batch: Sequence[Step], repeats: bool) -> None:
        stages = staged(self.targets, batch, repeats=repeats)
        requests = [entry for stage in stages for entry in entries(self.targets, stage)]
        headers = repeatable() if repeats else {}
        for _ in range(2 if repeats else 1):
            answers = documents(self.company, *requests, headers=headers)
            received = {name: Received.of(reply) for name, reply in answers.items()}
            changes = self._note_times()
            self._check_outcomes(stages, received, outcomes(self.model, stages, received))
            self._check_log(changes)

    @rule(batch=of_its_kinds(batches))
    def write_at_once(self, batch: Sequence[Step]) -> None:
        """Single writes and atomic groups come to what they come to in some order."""
        alone = [replace(step, follows=False, refers=False) for step in batch]
        stages = staged(self.targets, alone, repeats=False)
        answers = self.company.carrier.send_all([self._request_of(stage) for stage in stages])
        received: dict[str, Received] = {}
        for stage, answer in zip(stages, answers, strict=True):
            received |= _received(stage, answer)
        changes = self._note_times()
        before = self.model.copy()
        for order in permutations(stages):
            self.model.become(before.copy())
            found = outcomes(self.model, order, received)
            agree = all(received[name].status == each.status for name, each in found.items())
            if agree and self.model.log == _entries(changes):
                break
        else:
            pytest.fail(f"in no order would it come to {received} for {stages}")
        self._check_outcomes(stages, received, found)
        self._check_log(changes)

    @rule(data=st.data(), pick=PICKS, by_rule=st.booleans())
    def read(self, data: st.DataObject, pick: int, by_rule: bool) -> None:
        resource = data.draw(st.sampled_from(self.resources))
        address = self.targets.address(resource, pick, by_rule=by_rule)
        path, found = path_to(resource, address), self.model.find(resource, address)
        answer = self.company.get(path)
        if found is None:
            refusal(answer, "Internal_RecordNotFound")
            return
        self._check_record(resource, found.version, found.record, record(answer))
        tag = tag_of(answer)
        assert tag == record(answer)["@odata.etag"]
        assert self.company.get(path, headers={"If-None-Match": tag}).status_code == 304

    @rule(query=of_its_kinds(queries))
    def ask(self, query: Query) -> None:
        answer = page(self.company.get(query.resource, asked(query)))
        count, expected = answered(query, self._records(query.resource))
        assert [without_control(each) for each in answer.value] == expected
        assert answer.count == (count if query.counts else None)
        assert answer.next_link is None

    @rule(query=of_its_kinds(queries), size=SIZES)
    def turn_pages(self, query: Query, size: int) -> None:
        shown = pages(self.company, query.resource, asked(query), size)
        found = [without_control(each) for records in shown for each in records]
        _, expected = answered(query, self._records(query.resource))
        assert found == expected

    @precondition(lambda self: len(self.followed) < MIRRORS)
    @rule(data=st.data(), size=SIZES)
    def begin_to_follow(self, data: st.DataObject, size: int) -> None:
        resource = data.draw(st.sampled_from(self.resources))
        condition = data.draw(st.one_of(st.none(), conditions(resource)))
        query = "" if condition is None else encoded({"$filter": condition.text})
        mirror = Mirror(
            self.company, resource, query, size, lambda each: address_of(resource, each)
        )
        self.followed.append(Followed(mirror, resource, condition))
        self._check_mirror(self.followed[-1])

    @precondition(lambda self: self.followed)
    @rule(pick=PICKS)
    def follow_one_link(self, pick: int) -> None:
        """Between two pages a mirror holds neither this nor that; it is compared later."""
        self.followed[pick % len(self.followed)].mirror.turn()

    @precondition(lambda self: self.followed)
    @rule(pick=PICKS)
    def follow(self, pick: int) -> None:
        followed = self.followed[pick % len(self.followed)]
        followed.mirror.finish()
        followed.mirror.catch_up()
        # a key that is used again may be reported as removed each time that it was
        deleted = Counter(
            f"{self.company.root}/{path_to(each.resource, each.key)}"
            for each in self.model.log
            if each.verb == "delete"
        )
        for address, times in Counter(followed.mirror.reported).items():
            assert times <= max(1, deleted[address])
        self._check_mirror(followed)

    @invariant()
    def everything_is_there_and_nothing_else(self) -> None:
        for resource in self.resources:
            stored, key = self.model.records[resource], ENTITY_RULES[resource].key
            listed = page(self.company.get(resource, "$count=true"))
            shown = listed.value
            assert listed.count == len(shown)
            assert [str(each[key]) for each in shown] == sorted(stored)
            for each in shown:
                found = stored[str(each[key])]
                self._check_record(resource, found.version, found.record, each)

    def teardown(self) -> None:
        for pick in range(len(self.followed)):
            self.follow(pick)
        self._check_history()

    def _request(self, write: Write) -> httpx.Request:
        body = None if write.method == "DELETE" else write.body
        headers = self.targets.headers(write)
        return self.company.build(write.method, self.targets.path(write), "", body, headers)

    def _request_of(self, stage: Stage) -> httpx.Request:
        if stage.is_group:
            requests = entries(self.targets, stage)
            return self.company.build("POST", "$batch", "", {"requests": requests})
        [write] = stage.writes.values()
        return self._request(write)

    def _check(self, write: Write, answer: httpx.Response) -> None:
        """Let the model do what was sent, and compare."""
        changes = self._note_times()
        received = _alone(answer)
        outcome = self.model.do(write, made_key(write, received))
        self._check_outcome(write, received, outcome)
        self._check_log(changes)

    def _check_outcomes(
        self,
        stages: Sequence[Stage],
        received: Mapping[str, Received],
        expected: Mapping[str, Outcome],
    ) -> None:
        for stage in stages:
            for name, write in stage.writes.items():
                self._check_outcome(write, received[name], expected[name])

    def _check_outcome(self, write: Write, received: Received, expected: Outcome) -> None:
        assert received.status == expected.status, (write, received, expected)
        if isinstance(expected, Refused):
            assert error_in(received.content).code in expected.codes
        elif expected.status == 204:
            assert received.content == b""
        else:
            shown = msgspec.json.decode(received.content, type=Record)
            assert shown["@odata.etag"] == received.tag
            self._check_record(write.resource, expected.version, expected.record, shown)

    def _check_record(self, resource: str, version: int, expected: Values, shown: Record) -> None:
        assert without_control(shown) == expected
        assert_follows(resource, shown)
        self.targets.tags.check(version, str(shown["@odata.etag"]))
        key = str(expected[ENTITY_RULES[resource].key])
        self.versions[resource, key, version] = _without_secret(expected)

    def _check_history(self) -> None:
        """Undone from now on, the changes give each earlier record, and at last none."""
        undoing: dict[tuple[str, str], history.Values | None] = {
            (resource, key): each.record
            for resource in self.resources
            for key, each in self.model.records[resource].items()
        }
        found = history.changes(self.company, size=7)
        assert [(each.number, each.verb) for each in reversed(found)] == [
            (each.number, each.verb) for each in self.model.log
        ]
        for at, change in enumerate(found):
            of = change.entity_set, change.record
            is_last = of not in undoing or change.verb == "delete"
            before = undoing[of] = history.undone(undoing.get(of), change)
            if before is not None and (*of, change.previous) in self.versions:
                assert _without_secret(before) == self.versions[*of, change.previous]
            if is_last:
                earlier = [each for each in found[at:] if (each.entity_set, each.record) == of]
                verbs = [each.verb for each in earlier]
                query = history.of_record(*of, change.number)
                linked = history.changes(self.company, query, size=3)
                assert linked == earlier[: verbs.index("create") + 1]
        assert all(each is None for each in undoing.values())

    def _note_times(self) -> Sequence[Change]:
        """Tell the model when what the service has done was done; gives the change log."""
        changes = self.company.changes()
        self.model.times = [each.at for each in changes]
        assert self.model.times == sorted(self.model.times)
        return changes

    def _check_log(self, changes: Sequence[Change]) -> None:
        """The change log is the sequence of the writes that were done, without gaps."""
        assert _entries(changes) == self.model.log
        assert {each.by for each in changes} <= {SUBJECT}

    def _check_mirror(self, followed: Followed) -> None:
        records = self._records(followed.resource).values()
        expected = [each for each in records if holds(followed.condition, each)]
        shown = {
            address: without_control(each) for address, each in followed.mirror.records.items()
        }
        assert shown == followed.mirror.mirrored(expected)

    def _records(self, resource: str) -> Mapping[str, Values]:
        return {key: each.record for key, each in self.model.records[resource].items()}


def _entries(changes: Sequence[Change]) -> list[Entry]:
    return [Entry(each.number, each.entity_set, each.record, each.verb) for each in changes]


def _without_secret(record: history.Values) -> history.Values:
    return {name: value for name, value in record.items() if name != "onlinePassword"}


def _alone(answer: httpx.Response) -> Received:
    return Received(answer.status_code, answer.headers.get("etag"), answer.content)


def _received(stage: Stage, answer: httpx.Response) -> Mapping[str, Received]:
    if stage.is_group:
        return {reply.id: Received.of(reply) for reply in replies(answer)}
    return dict.fromkeys(stage.writes, _alone(answer))


@pytest.mark.timeout(400)
def test_the_service_does_what_the_model_does(service: Service) -> None:
    """To find the shortest way to a failure may take Hypothesis five minutes."""

    class OfService(Clients):
        def __init__(self) -> None:
            super().__init__(service)

    run_state_machine_as_test(
        OfService,
        settings=settings(max_examples=examples(4), stateful_step_count=50, derandomize=True),
    )
