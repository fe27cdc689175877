"""The sources of faults: the header of a request, and JSON from a file or the endpoint.

A document is `{"rules": [...]}` or `{"preset": "bad-day"}`, with a `seed` for all rules that have
none of their own. Every error in a text is a `Refusal` (400) that names its place, such as
`rules[2].match.method`.
"""

import re
from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from typing import TypeVar

import msgspec
from msgspec.json import Decoder

from comptoir.edm.times import DURATION, INSTANT, SECOND
from comptoir.edm.types import EdmError, is_guid
from comptoir.errors.refusal import Refusal
from comptoir.features.rehearsal import errors
from comptoir.features.rehearsal.fault import HEADER, Stage
from comptoir.features.rehearsal.faults import parse_fault, parse_parts
from comptoir.features.rehearsal.rules import PRESETS, Match, Rule
from comptoir.request.payload import MEMBERS, json_error, repeated

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

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}", re.ASCII)
_ID_FORM = "up to 40 letters, digits, dots, hyphens and underscores"

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
    has_window = fault.window is not None
    if fault.stage is Stage.DELIVERY or fault.remembers or has_window:
        part = "window" if has_window else fault.name
        raise errors.NOT_ONE_REQUEST(HEADER, part=part)
    key, times = rest.get("key"), rest.get("times")
    if (key is None) != (times is None):
        raise errors.KEY_OR_TIMES(HEADER)
    if key is None or times is None:
        return Rule("header", fault)
    if not _ID.fullmatch(key):
        place = f"key in {HEADER}"
        raise errors.INVALID(HEADER, value=key, place=place, wanted=_ID_FORM)
    if not (times.isascii() and times.isdigit() and len(times) < 10 and int(times)):
        place, wanted = f"times in {HEADER}", f"an integer from 1 to {MOST_TIMES - 1}"
        raise errors.INVALID(HEADER, value=times, place=place, wanted=wanted)
    return Rule(f"header:{key}", fault, times=int(times))


def parse_rules(body: bytes, sets: Collection[str]) -> tuple[Rule, ...]:
    """The rules of a document; `sets` are the names of the entity sets."""
    document = _Object(_bounded(body), "", ("rules", "preset", "seed"))
    seed = document.integer("seed", 0, HIGHEST_SEED) or 0
    if document.has("rules") == document.has("preset"):
        raise errors.RULES_OR_PRESET()
    if document.has("preset"):
        name = document.text("preset")
        if name not in PRESETS:
            presets = ", ".join(PRESETS)
            raise errors.UNKNOWN_PRESET("preset", known=PRESETS, name=name, presets=presets)
        return tuple(msgspec.structs.replace(each, seed=seed) for each in PRESETS[name])
    by_id: dict[str, Rule] = {}
    for number, raw in enumerate(document.array("rules", MOST_RULES)):
        place = f"rules[{number}]"
        rule = _rule(raw, place, f"rule-{number}", seed, sets)
        if by_id.setdefault(rule.id, rule) is not rule:
            raise errors.SAME_ID(f"{place}.id", id=rule.id, place=f"{place}.id")
    return tuple(by_id.values())


def parse_rule(body: bytes, name: str, sets: Collection[str]) -> Rule:
    """A single rule, such as one that is added to others; `name` is its id without one."""
    return _rule(_bounded(body), "", name, 0, sets)


def parse_advance(body: bytes) -> float:
    """The seconds in `{"advance": "PT8M"}`; negative for a clock that would move back."""
    document = _Object(_bounded(body), "", ("advance",))
    wanted = "a duration such as PT8M or P1DT12H"
    return int(document.parsed("advance", DURATION.from_text, wanted)) / SECOND


class _Object:
    """The members of an object in a document; `place` is empty for the document itself."""

    def __init__(self, raw: bytes | msgspec.Raw, place: str, known: Sequence[str]) -> None:
        self._place = place
        named = _decoded(MEMBERS, raw, place, "an object")
        name = repeated(named)
        if name is not None:
            raise errors.TWICE(self.place_of(name[:40]), what=name, place=place or "the document")
        self._members = {each.text: value for each, value in named.items()}
        for each in self._members:
            if each not in known:
                raise errors.UNKNOWN_MEMBER(
                    self.place_of(each[:40]),
                    known=known,
                    owner=place or "The document",
                    name=each,
                    members=", ".join(known),
                )

    def place_of(self, name: str) -> str:
        return f"{self._place}.{name}" if self._place else name

    def has(self, name: str) -> bool:
        return name in self._members

    def array(self, name: str, most: int) -> list[msgspec.Raw]:
        listed = _decoded(_ARRAY, self._members[name], self.place_of(name), "an array of objects")
        if len(listed) > most:
            raise errors.LONG_ARRAY(name, array=name, limit=most)
        return listed

    def object(self, name: str, known: Sequence[str]) -> "_Object":
        """The members of an object, none if it is missing."""
        return _Object(self._members.get(name, msgspec.Raw(b"{}")), self.place_of(name), known)

    def value(
        self, name: str, decoder: Decoder[T], wanted: str, is_valid: Callable[[T], bool]
    ) -> T | None:
        """A valid value; None if it is missing."""
        if not self.has(name):
            return None
        place = self.place_of(name)
        value = _decoded(decoder, self._members[name], place, wanted)
        if not is_valid(value):
            raise _invalid(place, f"{value:g}" if isinstance(value, float) else str(value), wanted)
        return value

    def text(self, name: str) -> str:
        """A text; raises `Refusal` (400) if it is missing, empty or too long."""
        place = self.place_of(name)
        if not self.has(name):
            raise errors.MISSING(place, place=place)
        text = _decoded(_TEXT, self._members[name], place, "text")
        if not text or len(text) > LONGEST_TEXT:
            raise _invalid(place, text, f"1 to {LONGEST_TEXT} characters")
        return text

    def parsed(self, name: str, parse: Callable[[str], T], wanted: str) -> T:
        """The text of a parsed value; raises `Refusal` (400)."""
        text = self.text(name)
        try:
            return parse(text)
        except EdmError:
            raise _invalid(self.place_of(name), text, wanted) from None

    def integer(self, name: str, low: int, high: int) -> int | None:
        """An integer from `low` to `high`."""
        wanted = f"an integer from {low} to {high}"
        return self.value(name, _INTEGER, wanted, lambda each: low <= each <= high)


def _rule(
    raw: bytes | msgspec.Raw, place: str, name: str, seed: int, sets: Collection[str]
) -> Rule:
    members = _Object(raw, place, ("id", "match", "probability", "seed", "times", "until", "fault"))
    if members.has("id"):
        name = members.text("id")
        if not _ID.fullmatch(name):
            raise _invalid(members.place_of("id"), name, _ID_FORM)
    fault_place = members.place_of("fault")
    fault = parse_fault(members.text("fault"), fault_place)
    match = _match(members, sets)
    methods = fault.methods
    if match.method and methods and match.method not in methods:
        raise errors.OTHER_METHOD(
            fault_place,
            fault=fault.name,
            place=fault_place,
            method=match.method,
            methods=", ".join(sorted(methods)),
        )
    if match.company and fault.window:
        raise errors.WINDOW_OF_COMPANY(fault_place, place=fault_place)
    until = None
    if members.has("until"):
        wanted = "an instant such as 2026-11-23T14:00:00Z"
        instant = members.parsed("until", INSTANT.from_text, wanted)
        until = datetime.fromisoformat(str(instant)).timestamp()
    wanted = "a number above 0, at most 1"
    probability = members.value("probability", _NUMBER, wanted, lambda each: 0 < each <= 1)
    own_seed = members.integer("seed", 0, HIGHEST_SEED)
    return Rule(
        name,
        fault,
        match,
        1.0 if probability is None else probability,
        seed if own_seed is None else own_seed,
        members.integer("times", 1, MOST_TIMES),
        until,
    )


def _match(members: _Object, sets: Collection[str]) -> Match:
    named = ("method", "path", "set", "client", "company")
    given = members.object("match", (*named, "nth"))
    texts = {name: given.text(name) if given.has(name) else "" for name in named}
    method, path, entity_set = texts["method"], texts["path"], texts["set"]
    company = texts["company"].lower()
    if method and method not in METHODS:
        raise _invalid(given.place_of("method"), method, f"one of {', '.join(METHODS)}")
    if path.count("*") > MOST_STARS:
        place = given.place_of("path")
        raise errors.MANY_STARS(place, place=place, limit=MOST_STARS)
    if path and path[0] not in "/*":
        wanted = "a path from the root of the host, such as */contactsExt(*)"
        raise _invalid(given.place_of("path"), path, wanted)
    if entity_set and entity_set not in sets:
        place = given.place_of("set")
        raise errors.UNKNOWN_SET(place, known=sets, name=entity_set, place=place)
    if company and not is_guid(company):
        raise _invalid(given.place_of("company"), company, "the id of a company, a Guid")
    nth = given.integer("nth", 1, MOST_TIMES) or 1
    return Match(method, path, entity_set, texts["client"], company, nth)


def _bounded(body: bytes) -> bytes:
    if len(body) > LONGEST_DOCUMENT:
        raise errors.LONG_DOCUMENT(limit=LONGEST_DOCUMENT)
    return body


def _invalid(place: str, value: str, wanted: str) -> Refusal:
    return errors.INVALID(place, value=value, place=place, wanted=wanted)


def _decoded(decoder: Decoder[T], raw: bytes | msgspec.Raw, place: str, wanted: str) -> T:
    target, where = place or None, place or "the document"
    try:
        return decoder.decode(raw)
    except msgspec.ValidationError:
        raise errors.INVALID_JSON(target, place=where, wanted=wanted) from None
    except UnicodeDecodeError:
        raise errors.NOT_UTF_8(target, place=where) from None
    except msgspec.DecodeError as error:
        reason = json_error(error)
        raise errors.MALFORMED(target, place=where, reason=reason) from None
    except RecursionError:
        raise errors.NESTED(target, place=where) from None
