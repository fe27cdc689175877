"""Batches of random moves: their requests, and their results in a model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import uuid4

import msgspec

from support.batches import Entry, Reply
from support.client import Record
from support.model import (
    ENTITY_RULES,
    FAILED_DEPENDENCY,
    CompanyModel,
    Done,
    Outcome,
    Refused,
    Write,
)
from support.random_operations import Move, Step
from support.request_targets import RequestTargets


@dataclass(frozen=True)
class Received:
    """A response, alone or in a batch."""

    status: int
    tag: str | None
    content: bytes

    @classmethod
    def of(cls, reply: Reply) -> "Received":
        """The response to a request in a batch."""
        return cls(reply.status, reply.headers.get("etag"), bytes(reply.body))


@dataclass(frozen=True)
class Stage:
    """A step of a batch: its writes by their ids.

    `previous` is the step on which it depends. With `refers`, its first write is sent to the record
    that results from that step.
    """

    name: str
    writes: Mapping[str, Write]
    is_group: bool
    previous: "Stage | None" = None
    refers: bool = False


def staged(targets: RequestTargets, steps: Sequence[Step], *, repeats: bool) -> Sequence[Stage]:
    """The steps of a batch, with paths and tags from the present records."""
    stages: list[Stage] = []
    for at, step in enumerate(steps):
        previous = stages[-1] if stages and (step.follows or step.refers) else None
        refers = previous is not None and step.refers and _can_refer(step.moves[0], previous)
        writes = {
            f"{at}.{number}": targets.write(move, repeats=repeats)
            for number, move in enumerate(step.moves)
        }
        name = f"group {at}" if step.is_group else f"{at}.0"
        stages.append(Stage(name, writes, step.is_group, previous, refers))
    return stages


def entries(targets: RequestTargets, stage: Stage) -> list[Entry]:
    """The requests of a step, for a batch in JSON."""
    made: list[Entry] = []
    for number, (name, write) in enumerate(stage.writes.items()):
        more: dict[str, object] = {"id": name}
        if stage.is_group:
            more["atomicityGroup"] = stage.name
        if stage.previous is not None:
            more["dependsOn"] = [stage.previous.name]
            if stage.refers and number == 0:
                more["url"] = f"${list(stage.previous.writes)[-1]}"
        # the ids of repeatable requests come from the batch
        made.append(targets.entry(replace(write, repeat=""), **more))
    return made


def outcomes(
    model: CompanyModel, stages: Sequence[Stage], received: Mapping[str, Received]
) -> dict[str, Outcome]:
    """The outcomes of a batch in the model, by the ids of its requests."""
    found: dict[str, Outcome] = {}
    for stage in stages:
        writes = dict(stage.writes)
        if stage.previous is not None:
            before = [found[name] for name in stage.previous.writes]
            if any(isinstance(each, Refused) for each in before):
                found |= dict.fromkeys(writes, FAILED_DEPENDENCY)
                continue
            if stage.refers and isinstance(before[-1], Done):
                first = next(iter(writes))
                writes[first] = replace(writes[first], address=before[-1].key)
        made = [made_key(write, received[name]) for name, write in writes.items()]
        if stage.is_group:
            done = model.do_together(list(writes.values()), made)
        else:
            done = [model.do(*each) for each in zip(writes.values(), made, strict=True)]
        found |= zip(writes, done, strict=True)
    return found


def made_key(write: Write, received: Received) -> str:
    """The key that the service generated for a new record, or a possible one."""
    if write.method != "POST" or received.status != 201 or ENTITY_RULES[write.resource].key != "id":
        return str(uuid4())
    return str(msgspec.json.decode(received.content, type=Record)["id"])


def _can_refer(first: Move, previous: Stage) -> bool:
    """Whether a move can be sent to the record that results from a step."""
    last = list(previous.writes.values())[-1]
    return (
        first.resource == last.resource
        and first.method != "POST"
        and not first.must_not_exist
        and last.method != "DELETE"
        and isinstance(last.address, str)
    )
