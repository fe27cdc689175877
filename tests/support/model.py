"""A model of a company in plain dictionaries: the specified results of writes.

It follows the written decisions, not the code, so that tests can compare the two.
"""

import re
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Final, Literal, Self

from support.contract import FIELDS, GUID
from support.samples import NO_GUID

Plain = str | int | bool
Values = dict[str, Plain]
Sent = Mapping[str, object]
Address = str | Mapping[str, Plain]
"""A record's key, or the values of one of its unique rules."""

ANY: Final = "*"
Guard = frozenset[int] | Literal["*"] | None
"""The condition of `If-Match`: versions of records, any version, or no header."""

STAMP = "lastModifiedDateTime"

_NO_VALUE: Mapping[str, Plain] = {
    "string": "",
    "guid": NO_GUID,
    "date": "0001-01-01",
    "instant": "0001-01-01T00:00:00.000Z",
    "boolean": False,
    "integer": 0,
}


@dataclass(frozen=True)
class Kind:
    """The specified rules of an entity type; its properties are those of the contract."""

    resource: str
    key: str = "id"
    required: tuple[str, ...] = ()
    unique: tuple[str, ...] = ()
    blank_is_free: bool = False
    numbered: str = ""
    guarded_create: bool = False

    @property
    def fields(self) -> Mapping[str, str]:
        return FIELDS[self.resource]

    @property
    def empty(self) -> Values:
        """A record with the default values."""
        return {name: _NO_VALUE[kind] for name, kind in self.fields.items()}


KINDS: Mapping[str, Kind] = {
    kind.resource: kind
    for kind in (
        Kind("contactsExt", required=("displayName",), unique=("number",), blank_is_free=True),
        Kind("shippingAgentsExt", required=("code",), unique=("code",)),
        Kind("unitsOfMeasureExt", key="code", required=("code",), guarded_create=True),
        Kind(
            "itemTranslationsExt",
            required=("itemNo", "languageCode"),
            unique=("itemNo", "languageCode", "variantCode"),
        ),
        Kind(
            "itemAttributesExt",
            required=("name",),
            unique=("attributeId",),
            numbered="attributeId",
        ),
    )
}


@dataclass(frozen=True)
class Write:
    """A write in the terms of the model: with versions instead of tags.

    `guard` is the condition in its header, `in_body` that of the tag in its body.
    """

    method: str
    resource: str
    body: Sent = field(default_factory=dict)
    address: Address = ""
    guard: Guard = None
    must_not_exist: bool = False
    repeat: str = ""
    in_body: Guard = None

    @property
    def precondition(self) -> Guard:
        """The condition on the record; a tag in the body guards an update without a header."""
        if self.guard is None and self.method in ("PATCH", "PUT") and not self.must_not_exist:
            return self.in_body
        return self.guard


@dataclass(frozen=True)
class Done:
    """A successful write: the record after it, or the deleted record."""

    status: int
    key: str
    version: int
    record: Values


@dataclass(frozen=True)
class Refused:
    """A refused write; its error has one of these codes."""

    status: int
    codes: tuple[str, ...]


Outcome = Done | Refused

NOT_FOUND = Refused(404, ("Internal_RecordNotFound",))
TAKEN = Refused(409, ("Internal_EntityWithSameKeyExists",))
CHANGED = Refused(412, ("Request_EntityChanged",))
FAILED_DEPENDENCY = Refused(424, ("Request_FailedDependency",))
UNGUARDED = Refused(428, ("Request_PreconditionRequired",))
WRONG, MISSING = "BadRequest", "BadRequest_RequiredParamNotProvided"


@dataclass(frozen=True)
class Entry:
    """An entry of the change log."""

    number: int
    resource: str
    key: str
    verb: str


@dataclass
class Held:
    """A record with its version: the number of its last change."""

    version: int
    record: Values


class CompanyModel:
    """The records of a company, and the outcome of every write.

    `times` are those of the changes in order, which only the service knows.
    """

    def __init__(self) -> None:
        self.held: dict[str, dict[str, Held]] = {resource: {} for resource in KINDS}
        self.log: list[Entry] = []
        self.times: Sequence[str] = ()
        self._repeatable: dict[str, Done] = {}

    def copy(self) -> Self:
        """A copy of the model."""
        return deepcopy(self)

    def become(self, other: Self) -> None:
        """Take over the content of another model, which is not used afterwards."""
        self.held, self.log, self._repeatable = other.held, other.log, other._repeatable

    def do(self, write: Write, made_key: str = "") -> Outcome:
        """Execute a write; `made_key` is the key of a record that is created without one."""
        known = self._repeatable.get(write.repeat)
        if known is not None:
            return known
        outcome = self._do(write, made_key)
        if write.repeat and isinstance(outcome, Done):
            self._repeatable[write.repeat] = outcome
        return outcome

    def do_together(self, writes: Sequence[Write], made_keys: Sequence[str]) -> list[Outcome]:
        """Execute all writes in order, or none; a refused group contains the write with the error.

        Faults that do not depend on a record are found first.
        """
        before = self.copy()
        outcomes: list[Outcome] = []
        for at, write in enumerate(writes):
            refused = _refused_at_once(write)
            if refused is not None:
                return _at_fault(at, refused, len(writes))
        for at, (write, made_key) in enumerate(zip(writes, made_keys, strict=True)):
            outcome = self.do(write, made_key)
            if isinstance(outcome, Refused):
                self.become(before)
                return _at_fault(at, outcome, len(writes))
            outcomes.append(outcome)
        return outcomes

    def find(self, resource: str, address: Address) -> Held | None:
        """The record at an address; an empty number is not an address."""
        records = self.held[resource]
        if isinstance(address, str):
            return records.get(address)
        if KINDS[resource].blank_is_free and not all(address.values()):
            return None
        return next((each for each in records.values() if _has(each.record, address)), None)

    def _do(self, write: Write, made_key: str) -> Outcome:
        kind = KINDS[write.resource]
        refused = _refused_at_once(write)
        if refused is not None:
            return refused
        if write.method == "POST":
            return self._create(kind, write, None, made_key)
        if write.must_not_exist:
            assert isinstance(write.address, str)
            return self._create(kind, write, write.address, made_key)
        found = self.find(write.resource, write.address)
        if found is None:
            return NOT_FOUND
        if not _allows(write.precondition, found):
            return CHANGED
        return self._delete(kind, found) if write.method == "DELETE" else self._change(write, found)

    def _create(self, kind: Kind, write: Write, key: str | None, made_key: str) -> Outcome:
        body = dict(write.body)
        if key is not None:
            body[kind.key] = key
        given, faults = _given(kind, body, creates=True)
        existing = self.held[kind.resource].get(str(given.get(kind.key)))
        if existing is not None and write.must_not_exist:
            return CHANGED
        if existing is not None and kind.guarded_create and not _allows(write.guard, existing):
            return CHANGED
        faults += _left_out(kind, {*body})
        if faults:
            return Refused(400, tuple(faults))
        if existing is not None:
            return TAKEN
        record = kind.empty | {kind.key: made_key} | given
        if kind.numbered and kind.numbered not in given:
            record[kind.numbered] = 1 + max(
                (int(each.record[kind.numbered]) for each in self._all(kind)), default=0
            )
        self._derive(kind, record, given, renamed=True)
        if self._is_taken(kind, record):
            return TAKEN
        return self._commit(kind, record, "create", keeps_time=STAMP in given)

    def _change(self, write: Write, found: Held) -> Outcome:
        kind, before = KINDS[write.resource], found.record
        given, faults = _given(kind, write.body, creates=False)
        replaces = write.method == "PUT"
        if replaces:
            faults += _left_out(kind, {*write.body, kind.key})
        if faults:
            return Refused(400, tuple(faults))
        stays = (kind.key, kind.numbered, STAMP)
        begins = kind.empty | {name: before[name] for name in stays if name in before}
        record = (begins if replaces else before) | given
        if replaces or record != before:
            renamed = replaces or record.get("displayName") != before.get("displayName")
            self._derive(kind, record, given, renamed=renamed)
        if record == before:
            return self._done(200, kind, found)
        if self._is_taken(kind, record):
            return TAKEN
        return self._commit(kind, record, "update", keeps_time=False)

    def _delete(self, kind: Kind, found: Held) -> Outcome:
        key = str(found.record[kind.key])
        del self.held[kind.resource][key]
        self._note(kind, key, "delete")
        return self._done(204, kind, found)

    def _derive(self, kind: Kind, record: Values, given: Values, *, renamed: bool) -> None:
        """Derive the properties of a contact that the body does not contain."""
        if kind.resource != "contactsExt":
            return
        if renamed and "searchName" not in given:
            record["searchName"] = str(record["displayName"]).upper()
        number = record["companyNumber"]
        if number == "" or "companyName" in given:
            return
        others = [each.record for each in self._all(kind) if each.record["id"] != record["id"]]
        for each in (*others, record):
            if each["number"] == number and each["type"] == "Company":
                record["companyName"] = each["displayName"]

    def _is_taken(self, kind: Kind, record: Values) -> bool:
        wanted = {name: record[name] for name in kind.unique}
        if not wanted or (kind.blank_is_free and not all(wanted.values())):
            return False
        return any(
            _has(each.record, wanted) and each.record[kind.key] != record[kind.key]
            for each in self._all(kind)
        )

    def _commit(self, kind: Kind, record: Values, verb: str, *, keeps_time: bool) -> Done:
        key = str(record[kind.key])
        version = self._note(kind, key, verb)
        if STAMP in record and not keeps_time:
            # a write that the service refused has no time: the outcomes differ, and show more
            record[STAMP] = self.times[version - 1] if version <= len(self.times) else ""
        held = self.held[kind.resource][key] = Held(version, record)
        return self._done(201 if verb == "create" else 200, kind, held)

    def _note(self, kind: Kind, key: str, verb: str) -> int:
        number = len(self.log) + 1
        self.log.append(Entry(number, kind.resource, key, verb))
        return number

    def _done(self, status: int, kind: Kind, held: Held) -> Done:
        return Done(status, str(held.record[kind.key]), held.version, dict(held.record))

    def _all(self, kind: Kind) -> Sequence[Held]:
        return list(self.held[kind.resource].values())


def _refused_at_once(write: Write) -> Refused | None:
    """The fault in the precondition of a write, None without one."""
    if write.method == "POST" and not KINDS[write.resource].guarded_create:
        return None
    if write.precondition is None and not write.must_not_exist:
        return UNGUARDED
    if write.method != "POST" and write.guard is not None and write.must_not_exist:
        return CHANGED
    return None


def _at_fault(at: int, refused: Refused, count: int) -> list[Outcome]:
    return [refused if number == at else FAILED_DEPENDENCY for number in range(count)]


def _has(record: Values, values: Mapping[str, object]) -> bool:
    return all(record[name] == value for name, value in values.items())


def _allows(guard: Guard, found: Held) -> bool:
    return guard is None or guard == ANY or found.version in guard


def _given(kind: Kind, body: Sent, *, creates: bool) -> tuple[Values, list[str]]:
    """The properties in a body, in the form of responses, and the codes of its faults."""
    given: Values = {}
    faults: list[str] = []
    for name, value in body.items():
        if "@" in name or (name == kind.key and not creates):
            continue
        if name == STAMP and not (creates and kind.guarded_create):
            continue
        read = _read(kind.fields.get(name, ""), value)
        if read is None:
            faults.append(WRONG)
            continue
        if name in kind.required and read == "":
            faults.append(MISSING)
        given[name] = read
    return given, faults


def _read(kind: str, value: object) -> Plain | None:
    """A value of a type in the form of responses, None if it is not valid."""
    if kind == "boolean":
        return value if isinstance(value, bool) else None
    if kind == "integer":
        if isinstance(value, str) and value.isdecimal():
            return int(value)
        return value if isinstance(value, int) and not isinstance(value, bool) else None
    if not isinstance(value, str) or kind == "":
        return None
    if kind == "guid":
        return value.lower() if re.fullmatch(GUID, value.lower()) else None
    return value


def _left_out(kind: Kind, said: set[str]) -> list[str]:
    return [MISSING for name in kind.required if name not in said]
