"""Builds requests from random moves, with the records of a model and their tags."""

from collections.abc import Mapping, Sequence
from itertools import count
from urllib.parse import quote

from support.batches import Entry
from support.client import Query
from support.evaluator import Operand, Scope, quoted
from support.model import (
    ANY,
    ENTITY_RULES,
    Address,
    CompanyModel,
    Guard,
    Plain,
    Sent,
    Values,
    Write,
)
from support.random_operations import CODES, IDS, IN_BODY, TAG, Move
from support.random_operations import Query as Question
from support.repeats import repeatable
from support.samples import UNKNOWN

LIVE = 8
"""Lower picks choose existing records, if there are any."""


class Tags:
    """The tags of versions; the service gives each version a different one."""

    def __init__(self) -> None:
        self._by_version: dict[int, str] = {}
        self._versions: dict[str, int] = {}

    def check(self, version: int, tag: str) -> None:
        """A tag that the service returned for a version."""
        assert self._by_version.setdefault(version, tag) == tag, "a tag that changed"
        assert self._versions.setdefault(tag, version) == version, "a tag that came back"

    def stale(self, current: int) -> frozenset[int]:
        """The latest version that is not the current one, if there is one."""
        return frozenset(sorted(self._by_version.keys() - {current})[-1:])

    def header(self, guard: frozenset[int]) -> str:
        """An `If-Match` that matches only some versions."""
        return ", ".join(self._by_version[version] for version in sorted(guard)) or 'W/"nothing"'


def address_of(resource: str, record: Sent) -> str:
    """The path of a record, by its key."""
    return path_to(resource, str(record[ENTITY_RULES[resource].key]))


def path_to(resource: str, address: Address) -> str:
    """The path to an address below the company."""
    if isinstance(address, str):
        key = _literal(address) if ENTITY_RULES[resource].key == "code" else address
        return f"{resource}({key})"
    parts = [f"{name}={_literal(value)}" for name, value in address.items()]
    return f"{resource}({','.join(parts)})"


def _literal(value: Plain) -> str:
    return quote(quoted(value).text, safe="'") if isinstance(value, str) else f"{value}"


class RequestTargets:
    """Chooses targets of moves from the present and past records of a model."""

    def __init__(self, model: CompanyModel) -> None:
        self._model = model
        self._numbers = count(1)
        self.tags = Tags()

    def address(self, resource: str, pick: int, *, by_rule: bool = False) -> Address:
        """An existing record, a deleted one, or one that does not exist."""
        rules, records = ENTITY_RULES[resource], self._model.records[resource]
        spare = (CODES if rules.key == "code" else IDS)[pick % 4]
        others = [each.key for each in self._model.log if each.resource == resource][-3:]
        others += [spare if rules.key == "code" else spare.lower(), UNKNOWN]
        keys = list(records) if records and pick < LIVE else others
        key = keys[pick % len(keys)]
        if by_rule and rules.unique:
            record = records[key].record if key in records else rules.empty
            return {name: record[name] for name in rules.unique}
        return key

    def write(self, move: Move, *, repeats: bool = False) -> Write:
        """The write of a move, with the present records."""
        if move.must_not_exist:
            address = self.address(move.resource, move.pick if move.pick % 2 else LIVE + move.pick)
        else:
            address = self.address(move.resource, move.pick, by_rule=move.by_rule)
        if move.method == "POST":
            address = str(move.body.get(ENTITY_RULES[move.resource].key, "")).lower()
        found = self._model.find(move.resource, address)
        version = 0 if found is None else found.version
        body, in_body = self._body(move, version)
        return Write(
            move.method,
            move.resource,
            body,
            address,
            self._guard(move, version),
            move.must_not_exist,
            f"repeat {next(self._numbers)}" if repeats else "",
            in_body,
        )

    def _body(self, move: Move, version: int) -> tuple[Sent, Guard]:
        """The body of a move, and the versions of its tag."""
        if not move.guard.endswith(IN_BODY) or move.method == "DELETE":
            return move.body, frozenset() if TAG in move.body else None
        is_stale = move.guard.startswith("stale")
        versions = self.tags.stale(version) if is_stale else frozenset({version} - {0})
        return {**move.body, TAG: self.tags.header(versions)}, versions

    def _guard(self, move: Move, version: int) -> Guard:
        if move.guard == "none" or move.guard.endswith(IN_BODY):
            return None
        if move.must_not_exist and move.guard != "both":
            return None
        current, stale = frozenset({version} - {0}), self.tags.stale(version)
        guards: Mapping[str, Guard] = {"*": ANY, "current": current, "stale": stale}
        return current | stale if move.guard == "both" else guards[move.guard]

    def headers(self, write: Write) -> dict[str, str]:
        """The headers of a write."""
        found = repeatable(write.repeat) if write.repeat else {}
        if write.guard is not None:
            found["If-Match"] = ANY if write.guard == ANY else self.tags.header(write.guard)
        if write.must_not_exist:
            found["If-None-Match"] = ANY
        return found

    def path(self, write: Write) -> str:
        """The path of a write, below the company."""
        if write.method == "POST":
            return write.resource
        return path_to(write.resource, write.address)

    def entry(self, write: Write, **more: object) -> Entry:
        """A write as a request of a batch in JSON."""
        body = {} if write.method == "DELETE" else {"body": write.body}
        headers = self.headers(write)
        return {"method": write.method, "url": self.path(write), "headers": headers, **body, **more}


def holds(condition: Operand | None, record: Values) -> bool:
    """Whether a record meets a condition; every record meets None."""
    return condition is None or condition.of(Scope(record, (), {})) is True


def asked(question: Question) -> Query:
    """The query options of a query."""
    options: dict[str, str | int] = {}
    if question.condition is not None:
        options["$filter"] = question.condition.text
    if question.orders:
        options["$orderby"] = ",".join(
            f"{name} desc" if descends else name for name, descends in question.orders
        )
    if question.skip:
        options["$skip"] = question.skip
    if question.top is not None:
        options["$top"] = question.top
    if question.counts:
        options["$count"] = "true"
    return options


def answered(question: Question, records: Mapping[str, Values]) -> tuple[int, Sequence[Values]]:
    """The number of records that a query finds, and those that the response contains."""
    keys = sorted(records, reverse=question.orders[-1][1] if question.orders else False)
    found = [records[key] for key in keys if holds(question.condition, records[key])]
    for name, descends in reversed(question.orders):
        found.sort(key=lambda record: record[name], reverse=descends)
    end = None if question.top is None else question.skip + question.top
    return len(found), found[question.skip : end]
