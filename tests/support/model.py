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
class EntityRules:
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
        return {name: _NO_VALUE[type_name] for name, type_name in self.fields.items()}


ENTITY_RULES: Mapping[str, EntityRules] = {
    rules.resource: rules
    for rules in (
        EntityRules(
            "contactsExt", required=("displayName",), unique=("number",), blank_is_free=True
        ),
        EntityRules("shippingAgentsExt", required=("code",), unique=("code",)),
        EntityRules("unitsOfMeasureExt", key="code", required=("code",), guarded_create=True),
        EntityRules(
            "itemTranslationsExt",
            required=("itemNo", "languageCode"),
            unique=("itemNo", "languageCode", "variantCode"),
        ),
        EntityRules(
            "itemAttributesExt", required=("name",), unique=("attributeId",), numbered="attributeId"
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

TAKEN = Refused(409, ("Internal_EntityWithSameKeyExists",))
CHANGED = Refused(412, ("Request_EntityChanged",))
FAILED_DEPENDENCY = Refused(424, ("Request_FailedDependency",))
WRONG, MISSING = "BadRequest", "BadRequest_RequiredParamNotProvided"


@dataclass(frozen=True)
class Entry:
    """An entry of the change log."""

    number: int
    resource: str
    key: str
    verb: str


@dataclass
class Versioned:
    """A record with its version: the number of its last change."""

    version: int
    record: Values


class CompanyModel:
    """The records of a company, and the outcome of every write.

    `times` are those of the changes in order, which only the service knows.
    """

    def __init__(self) -> None:
        self.records: dict[str, dict[str, Versioned]] = {resource: {} for resource in ENTITY_RULES}
        self.log: list[Entry] = []
        self.times: Sequence[str] = ()
        self._repeatable: dict[str, Done] = {}

    def copy(self) -> Self:
        return deepcopy(self)

    def become(self, other: Self) -> None:
        """Take over the content of another model, which is not used afterwards."""
        self.records, self.log, self._repeatable = other.records, other.log, other._repeatable

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

        Errors that do not depend on a record are found first.
        """
        before = self.copy()
        outcomes: list[Outcome] = []
        for at, write in enumerate(writes):
            refused = _refused_at_once(write)
            if refused is not None:
                return _at_error(at, refused, len(writes))
        for at, (write, made_key) in enumerate(zip(writes, made_keys, strict=True)):
            outcome = self.do(write, made_key)
            if isinstance(outcome, Refused):
                self.become(before)
                return _at_error(at, outcome, len(writes))
            outcomes.append(outcome)
        return outcomes

    def find(self, resource: str, address: Address) -> Versioned | None:
        """The record at an address; an empty number is not an address."""
        records = self.records[resource]
        if isinstance(address, str):
            return records.get(address)
        if ENTITY_RULES[resource].blank_is_free and not all(address.values()):
            return None
        return next((each for each in records.values() if _has(each.record, address)), None)

    def _do(self, write: Write, made_key: str) -> Outcome:
        rules = ENTITY_RULES[write.resource]
        refused = _refused_at_once(write)
        if refused is not None:
            return refused
        if write.method == "POST":
            return self._create(rules, write, None, made_key)
        if write.must_not_exist:
            assert isinstance(write.address, str)
            return self._create(rules, write, write.address, made_key)
        found = self.find(write.resource, write.address)
        if found is None:
            return Refused(404, ("Internal_RecordNotFound",))
        if not _allows(write.precondition, found):
            return CHANGED
        if write.method != "DELETE":
            return self._change(rules, write, found)
        key = str(found.record[rules.key])
        del self.records[write.resource][key]
        self._note(rules, key, "delete")
        return self._done(204, rules, found)

    def _create(self, rules: EntityRules, write: Write, key: str | None, made_key: str) -> Outcome:
        body = dict(write.body)
        if key is not None:
            body[rules.key] = key
        given, errors = _given(rules, body, creates=True)
        existing = self.records[rules.resource].get(str(given.get(rules.key)))
        if existing is not None and write.must_not_exist:
            return CHANGED
        if existing is not None and rules.guarded_create and not _allows(write.guard, existing):
            return CHANGED
        errors += _left_out(rules, {*body})
        if errors:
            return Refused(400, tuple(errors))
        if existing is not None:
            return TAKEN
        record = rules.empty | {rules.key: made_key} | given
        if rules.numbered and rules.numbered not in given:
            used = [int(each.record[rules.numbered]) for each in self._all(rules)]
            record[rules.numbered] = 1 + max(used, default=0)
        self._derive(rules, record, given, renamed=True)
        if self._is_taken(rules, record):
            return TAKEN
        return self._commit(rules, record, "create", keeps_time=STAMP in given)

    def _change(self, rules: EntityRules, write: Write, found: Versioned) -> Outcome:
        before = found.record
        given, errors = _given(rules, write.body, creates=False)
        replaces = write.method == "PUT"
        if replaces:
            errors += _left_out(rules, {*write.body, rules.key})
        if errors:
            return Refused(400, tuple(errors))
        stays = (rules.key, rules.numbered, STAMP)
        begins = rules.empty | {name: before[name] for name in stays if name in before}
        record = (begins if replaces else before) | given
        if replaces or record != before:
            renamed = replaces or record.get("displayName") != before.get("displayName")
            self._derive(rules, record, given, renamed=renamed)
        if record == before:
            return self._done(200, rules, found)
        if self._is_taken(rules, record):
            return TAKEN
        return self._commit(rules, record, "update", keeps_time=False)

    def _derive(self, rules: EntityRules, record: Values, given: Values, *, renamed: bool) -> None:
        """Derive the properties of a contact that the body does not contain."""
        if rules.resource != "contactsExt":
            return
        if renamed and "searchName" not in given:
            record["searchName"] = str(record["displayName"]).upper()
        number = record["companyNumber"]
        if number == "" or "companyName" in given:
            return
        others = [each.record for each in self._all(rules) if each.record["id"] != record["id"]]
        for each in (*others, record):
            if each["number"] == number and each["type"] == "Company":
                record["companyName"] = each["displayName"]

    def _is_taken(self, rules: EntityRules, record: Values) -> bool:
        wanted = {name: record[name] for name in rules.unique}
        if not wanted or (rules.blank_is_free and not all(wanted.values())):
            return False
        return any(
            _has(each.record, wanted) and each.record[rules.key] != record[rules.key]
            for each in self._all(rules)
        )

    def _commit(self, rules: EntityRules, record: Values, verb: str, *, keeps_time: bool) -> Done:
        key = str(record[rules.key])
        version = self._note(rules, key, verb)
        if STAMP in record and not keeps_time:
            # a write that the service refused has no time: the outcomes differ, and show more
            record[STAMP] = self.times[version - 1] if version <= len(self.times) else ""
        stored = self.records[rules.resource][key] = Versioned(version, record)
        return self._done(201 if verb == "create" else 200, rules, stored)

    def _note(self, rules: EntityRules, key: str, verb: str) -> int:
        number = len(self.log) + 1
        self.log.append(Entry(number, rules.resource, key, verb))
        return number

    def _done(self, status: int, rules: EntityRules, stored: Versioned) -> Done:
        return Done(status, str(stored.record[rules.key]), stored.version, dict(stored.record))

    def _all(self, rules: EntityRules) -> Sequence[Versioned]:
        return list(self.records[rules.resource].values())


def _refused_at_once(write: Write) -> Refused | None:
    """The error in the precondition of a write, None without one."""
    if write.method == "POST" and not ENTITY_RULES[write.resource].guarded_create:
        return None
    if write.precondition is None and not write.must_not_exist:
        return Refused(428, ("Request_PreconditionRequired",))
    if write.method != "POST" and write.guard is not None and write.must_not_exist:
        return CHANGED
    return None


def _at_error(at: int, refused: Refused, count: int) -> list[Outcome]:
    return [refused if number == at else FAILED_DEPENDENCY for number in range(count)]


def _has(record: Values, values: Mapping[str, object]) -> bool:
    return all(record[name] == value for name, value in values.items())


def _allows(guard: Guard, found: Versioned) -> bool:
    return guard is None or guard == ANY or found.version in guard


def _given(rules: EntityRules, body: Sent, *, creates: bool) -> tuple[Values, list[str]]:
    """The properties in a body, in the form of responses, and the codes of its errors."""
    given: Values = {}
    errors: list[str] = []
    for name, value in body.items():
        if "@" in name or (name == rules.key and not creates):
            continue
        if name == STAMP and not (creates and rules.guarded_create):
            continue
        read = _read(rules.fields.get(name, ""), value)
        if read is None:
            errors.append(WRONG)
            continue
        if name in rules.required and read == "":
            errors.append(MISSING)
        given[name] = read
    return given, errors


def _read(type_name: str, value: object) -> Plain | None:
    """A value of a type in the form of responses, None if it is not valid."""
    if type_name == "boolean":
        return value if isinstance(value, bool) else None
    if type_name == "integer":
        if isinstance(value, str) and value.isdecimal():
            return int(value)
        return value if isinstance(value, int) and not isinstance(value, bool) else None
    if not isinstance(value, str) or type_name == "":
        return None
    if type_name == "guid":
        return value.lower() if re.fullmatch(GUID, value.lower()) else None
    return value


def _left_out(rules: EntityRules, said: set[str]) -> list[str]:
    return [MISSING for name in rules.required if name not in said]
