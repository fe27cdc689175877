"""The sources of faults: the header of a request, and JSON from a file or the endpoint.

A document is `{"rules": [...]}` or `{"preset": "bad-day"}`, with a `seed` for all rules that have
none of their own. Every fault of a text is a `Refusal` (400) that names its place, such as
`rules[2].match.method`.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import TypeVar

import msgspec
from msgspec.json import Decoder

from comptoir import operator_rows as problems
from comptoir.edm.times import DURATION, INSTANT, SECOND
from comptoir.edm.types import ValueFault, is_guid
from comptoir.errors import BAD_REQUEST, Refusal
from comptoir.features.rehearsal.faults import Stage, parse_fault, parse_parts
from comptoir.features.rehearsal.presets import PRESETS
from comptoir.features.rehearsal.rules import Match, Rule
from comptoir.messages import quoted, suggestion
from comptoir.refusals import given_twice, invalid_value, limit_exceeded, unknown_name
from comptoir.request.payload import MEMBERS, json_fault, repeated

HEADER = "Comptoir-Fault"

LONGEST_DOCUMENT = 65_536
"""Bytes of a document."""

MOST_RULES = 100
MOST_TIMES = 1_000_000_000
HIGHEST_SEED = 2**63 - 1
LONGEST_TEXT = 500
"""Characters of a path or of a client's name in a rule."""

MOST_STARS = 10
"""`*` in a path."""

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")

_DOCUMENT = "The document"
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}", re.ASCII)
_ID_REMEDY = "Send up to 40 letters, digits, dots, hyphens and underscores."

_TEXT = Decoder(str)
_INTEGER = Decoder(int)
_NUMBER = Decoder(float)
_ARRAY = Decoder(list[msgspec.Raw])

T = TypeVar("T")


def parse_header(value: str) -> Rule:
    """The rule for one request, from the value of `Comptoir-Fault`.

    Each request with the header meets the fault. With `key` and `times`, only the first `times`
    requests with the same key do. The id of the rule contains the key.
    """
    fault, rest = parse_parts(value, HEADER, ("key", "times"))
    if fault.type.stage is Stage.DELIVERY or fault.type.remembers or fault.window:
        part = "window" if fault.window else fault.name
        problem = f"{part} in {HEADER} does not act on a single request"
        raise Refusal(BAD_REQUEST, problem, "Use a rule.", target=HEADER)
    key, times = rest.get("key"), rest.get("times")
    if (key is None) != (times is None):
        problem = f"{HEADER} has only one of times and key"
        raise Refusal(BAD_REQUEST, problem, "Send both, or neither.", target=HEADER)
    if key is None or times is None:
        return Rule("header", fault)
    if not _ID.fullmatch(key):
        raise invalid_value(f"key in {HEADER}", key, _ID_REMEDY, target=HEADER)
    if not (times.isascii() and times.isdigit() and len(times) < 10 and int(times)):
        remedy = f"Send an integer from 1 to {MOST_TIMES - 1}."
        raise invalid_value(f"times in {HEADER}", times, remedy, target=HEADER)
    return Rule(f"header:{key}", fault, times=int(times))


def parse_rules(body: bytes, sets: Collection[str]) -> tuple[Rule, ...]:
    """The rules of a document; `sets` are the names of the entity sets."""
    document = _Object(_bounded(body), "", ("rules", "preset", "seed"))
    seed = document.integer("seed", 0, 0, HIGHEST_SEED)
    if document.has("rules") == document.has("preset"):
        problem = f"{_DOCUMENT} does not have exactly one of rules and preset"
        raise Refusal(BAD_REQUEST, problem, 'Send {"rules": []} or {"preset": "bad-day"}.')
    if document.has("preset"):
        name = document.text("preset")
        if name not in PRESETS:
            remedy = f"Send one of {', '.join(PRESETS)}."
            raise unknown_name(
                _DOCUMENT, "preset", name, PRESETS, "preset", remedy=remedy, error=BAD_REQUEST
            )
        return tuple(msgspec.structs.replace(each, seed=seed) for each in PRESETS[name])
    return _distinct(
        _rule(raw, f"rules[{number}]", f"rule-{number}", seed, sets)
        for number, raw in enumerate(document.array("rules", MOST_RULES))
    )


def parse_rule(body: bytes, name: str, sets: Collection[str]) -> Rule:
    """A single rule, such as one that is added to others; `name` is its id without one."""
    return _rule(_bounded(body), "", name, 0, sets)


def parse_file(path: str, content: bytes, sets: Collection[str]) -> tuple[Rule, ...]:
    """The rules of a file; raises `OperatorError` with its path."""
    try:
        return parse_rules(content, sets)
    except Refusal as refusal:
        raise problems.AT_PLACE(place=path, error=refusal) from None


def parse_advance(body: bytes) -> float:
    """The seconds in `{"advance": "PT8M"}`; negative for a clock that would move back."""
    document = _Object(_bounded(body), "", ("advance",))
    text = document.text("advance")
    try:
        return int(DURATION.from_text(text)) / SECOND
    except ValueFault:
        remedy = "Send a duration such as PT8M or P1DT12H."
        raise invalid_value("advance", text, remedy) from None


class _Object:
    """The members of an object in a document; `place` is empty for the document itself."""

    def __init__(self, raw: bytes | msgspec.Raw, place: str, known: Sequence[str]) -> None:
        self._place = place
        named = _decoded(MEMBERS, raw, place, "an object")
        name = repeated(named)
        if name is not None:
            where = f"{quoted(name)} in {place or 'the document'}"
            raise given_twice(where, error=BAD_REQUEST, target=self.place_of(name[:40]))
        self._members = {each.text: value for each, value in named.items()}
        for each in self._members:
            if each not in known:
                remedy = f"Send only {', '.join(known)}."
                target = self.place_of(each[:40])
                raise unknown_name(
                    place or _DOCUMENT,
                    "member",
                    each,
                    known,
                    target,
                    remedy=remedy,
                    error=BAD_REQUEST,
                )

    def place_of(self, name: str) -> str:
        return f"{self._place}.{name}" if self._place else name

    def has(self, name: str) -> bool:
        return name in self._members

    def array(self, name: str, most: int) -> list[msgspec.Raw]:
        listed = _decoded(_ARRAY, self._members[name], self.place_of(name), "an array of objects")
        if len(listed) > most:
            raise limit_exceeded(
                name, most, "elements", "Send fewer.", error=BAD_REQUEST, target=name
            )
        return listed

    def object(self, name: str, known: Sequence[str]) -> "_Object":
        """The members of an object, none if it is missing."""
        return _Object(self._members.get(name, msgspec.Raw(b"{}")), self.place_of(name), known)

    def text(self, name: str) -> str:
        """A text; raises `Refusal` (400) if it is missing, empty or too long."""
        place = self.place_of(name)
        if name not in self._members:
            raise Refusal(BAD_REQUEST, f"{place} is missing", "Add it.", target=place)
        text = _decoded(_TEXT, self._members[name], place, "text")
        if not text or len(text) > LONGEST_TEXT:
            remedy = f"Send 1 to {LONGEST_TEXT} characters."
            raise invalid_value(place, text, remedy)
        return text

    def integer(self, name: str, default: int, low: int, high: int) -> int:
        """An integer from `low` to `high`."""
        if name not in self._members:
            return default
        place, wanted = self.place_of(name), f"an integer from {low} to {high}"
        value = _decoded(_INTEGER, self._members[name], place, wanted)
        if not low <= value <= high:
            raise invalid_value(place, str(value), f"Send {wanted}.")
        return value

    def instant(self, name: str) -> float | None:
        """An instant in seconds since 1970."""
        if not self.has(name):
            return None
        text = self.text(name)
        try:
            return datetime.fromisoformat(str(INSTANT.from_text(text))).timestamp()
        except ValueFault:
            remedy = "Send an instant such as 2026-11-23T14:00:00Z."
            raise invalid_value(self.place_of(name), text, remedy) from None

    def probability(self, name: str) -> float:
        """A probability above 0, by default 1."""
        if name not in self._members:
            return 1.0
        place, wanted = self.place_of(name), "a number above 0, at most 1"
        value = _decoded(_NUMBER, self._members[name], place, wanted)
        if not 0 < value <= 1:
            raise invalid_value(place, f"{value:g}", f"Send {wanted}.")
        return value


def _rule(
    raw: bytes | msgspec.Raw, place: str, name: str, seed: int, sets: Collection[str]
) -> Rule:
    members = _Object(raw, place, ("id", "match", "probability", "seed", "times", "until", "fault"))
    if members.has("id"):
        name = members.text("id")
        if not _ID.fullmatch(name):
            raise invalid_value(members.place_of("id"), name, _ID_REMEDY)
    fault_place = members.place_of("fault")
    fault = parse_fault(members.text("fault"), fault_place)
    match = _match(members, sets)
    methods = fault.type.methods
    if match.method and methods and match.method not in methods:
        problem = f"{fault.name} in {fault_place} does not act on {match.method}"
        remedy = f"Match one of {', '.join(sorted(methods))}."
        raise Refusal(BAD_REQUEST, problem, remedy, target=fault_place)
    if match.company and fault.window:
        problem = f"A window in {fault_place} concerns all companies"
        remedy = "Remove the window, or the company."
        raise Refusal(BAD_REQUEST, problem, remedy, target=fault_place)
    times = members.integer("times", 0, 1, MOST_TIMES)
    return Rule(
        name,
        fault,
        match,
        members.probability("probability"),
        members.integer("seed", seed, 0, HIGHEST_SEED),
        times or None,
        members.instant("until"),
    )


def _match(members: _Object, sets: Collection[str]) -> Match:
    named = ("method", "path", "set", "client", "company")
    given = members.object("match", (*named, "nth"))
    texts = {name: given.text(name) if given.has(name) else "" for name in named}
    method, path, entity_set = texts["method"], texts["path"], texts["set"]
    company = texts["company"].lower()
    if method and method not in METHODS:
        raise invalid_value(given.place_of("method"), method, f"Send one of {', '.join(METHODS)}.")
    if path.count("*") > MOST_STARS:
        place = given.place_of("path")
        raise limit_exceeded(
            place, MOST_STARS, "*", "Send a shorter pattern.", error=BAD_REQUEST, target=place
        )
    if path and path[0] not in "/*":
        remedy = "Send a path from the root of the host, such as */contactsExt(*)."
        raise invalid_value(given.place_of("path"), path, remedy)
    if entity_set and entity_set not in sets:
        place = given.place_of("set")
        remedy = suggestion(entity_set, sets) or "Use a name from $metadata."
        raise invalid_value(place, entity_set, remedy)
    if company and not is_guid(company):
        raise invalid_value(given.place_of("company"), company, "Send the id of a company, a Guid.")
    nth = given.integer("nth", 1, 1, MOST_TIMES)
    return Match(method, path, entity_set, texts["client"], nth, company)


def _distinct(rules: Iterable[Rule]) -> tuple[Rule, ...]:
    """Rules of which each has its own id."""
    by_id: dict[str, Rule] = {}
    for number, rule in enumerate(rules):
        if rule.id in by_id:
            place = f"rules[{number}].id"
            problem = f"The id {quoted(rule.id)} in {place} is given twice"
            raise Refusal(BAD_REQUEST, problem, "Choose another one.", target=place)
        by_id[rule.id] = rule
    return tuple(by_id.values())


def _bounded(body: bytes) -> bytes:
    if len(body) > LONGEST_DOCUMENT:
        raise limit_exceeded(
            _DOCUMENT, LONGEST_DOCUMENT, "bytes", "Send fewer rules.", error=BAD_REQUEST
        )
    return body


def _decoded(decoder: Decoder[T], raw: bytes | msgspec.Raw, place: str, wanted: str) -> T:
    where = place or "the document"
    try:
        return decoder.decode(raw)
    except msgspec.ValidationError:
        problem, remedy = f"Invalid JSON value for {where}", f"Send {wanted}."
    except UnicodeDecodeError:
        problem, remedy = f"The JSON of {where} is not UTF-8", "Encode it as UTF-8."
    except msgspec.DecodeError as error:
        problem, remedy = f"{json_fault(error)} in {where}", "Correct it."
    except RecursionError:
        problem, remedy = f"The JSON of {where} nests too deeply", "Nest it less."
    raise Refusal(BAD_REQUEST, problem, remedy, target=place or None)
