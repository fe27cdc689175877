"""The sources of faults: the header of a request, and JSON from a file or the endpoint.

A document is `{"rules": [...]}` or `{"preset": "bad-day"}`, with a `seed` for all rules that have
none of their own. Every error in a text is a `Refusal` (400) that names its place, such as
`rules[2].match.method`.
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import Annotated, TypeVar, get_args

import msgspec
from msgspec import Meta, Raw
from msgspec.structs import fields, replace

from comptoir.edm.model import EntitySet
from comptoir.errors.refusal import Refusal
from comptoir.features.rehearsal import errors
from comptoir.features.rehearsal.fault import HEADER, Fault, Stage
from comptoir.features.rehearsal.faults import parse_fault, parse_parts
from comptoir.features.rehearsal.rules import PRESETS, Count, Match, Name, Rule, Seed, Text
from comptoir.request.payload import MEMBERS, json_error, repeated

LONGEST_DOCUMENT = 65_536
"""Bytes of a document."""

MOST_RULES = 100

S = TypeVar("S", bound=msgspec.Struct)
T = TypeVar("T")


_Rules = Annotated[
    list[Raw], Meta(max_length=MOST_RULES, description=f"an array of objects, up to {MOST_RULES}")
]


class _Document(msgspec.Struct, frozen=True):
    rules: _Rules | None = None
    preset: Text = ""
    seed: Seed = 0


class _Advance(msgspec.Struct, frozen=True):
    advance: Annotated[timedelta, Meta(description="a duration such as PT8M or P1DT12H")]


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
    if not rest:
        return Rule("header", fault)
    if len(rest) == 1:
        raise errors.KEY_OR_TIMES(HEADER)
    for name, form in (("key", Name), ("times", Count)):
        try:
            msgspec.convert(rest[name], form, strict=False)
        except msgspec.ValidationError:
            raise _invalid(HEADER, rest[name], f"{name} in {HEADER}", form) from None
    return Rule(f"header:{rest['key']}", fault, times=int(rest["times"]))


def parse_rules(body: bytes, sets: Sequence[EntitySet]) -> tuple[Rule, ...]:
    """The rules of a document; `sets` are those that a rule may name, and a fault act on."""
    document = _struct(body, _Document, "")
    if (document.rules is None) == (not document.preset):
        raise errors.RULES_OR_PRESET()
    if document.rules is None:
        name, presets = document.preset, ", ".join(PRESETS)
        if name not in PRESETS:
            raise errors.UNKNOWN_PRESET("preset", known=PRESETS, name=name, presets=presets)
        return tuple(replace(each, seed=document.seed) for each in PRESETS[name])
    by_id: dict[str, Rule] = {}
    for number, raw in enumerate(document.rules):
        place = f"rules[{number}]"
        rule = _rule(raw, place, f"rule-{number}", document.seed, sets)
        if by_id.setdefault(rule.id, rule) is not rule:
            raise errors.SAME_ID(f"{place}.id", id=rule.id, place=f"{place}.id")
    return tuple(by_id.values())


def parse_rule(body: bytes, name: str, sets: Sequence[EntitySet]) -> Rule:
    """A single rule, such as one that is added to others; `name` is its id without one."""
    return _rule(body, "", name, 0, sets)


def parse_advance(body: bytes) -> float:
    """The seconds in `{"advance": "PT8M"}`; negative for a clock that would move back."""
    return _struct(body, _Advance, "").advance.total_seconds()


def _rule(raw: bytes | Raw, place: str, name: str, seed: int, sets: Sequence[EntitySet]) -> Rule:
    """The rule in an object; `name` and `seed` are those of one without its own."""
    rule = _struct(raw, Rule, place, id=name, seed=seed)
    fault, match = rule.fault, rule.match
    at_fault, at_set = _place_of("fault", place), _place_of("match.set", place)
    if match.method and fault.methods and match.method not in fault.methods:
        methods = ", ".join(sorted(fault.methods))
        raise errors.OTHER_METHOD(
            at_fault, fault=fault.name, place=at_fault, method=match.method, methods=methods
        )
    if match.company and fault.window:
        raise errors.WINDOW_OF_COMPANY(at_fault, place=at_fault)
    known = [each.name for each in sets]
    if match.entity_set and match.entity_set not in known:
        raise errors.UNKNOWN_SET(at_set, known=known, name=match.entity_set, place=at_set)
    fault.check([each for each in sets if match.entity_set in ("", each.name)], at_fault)
    return replace(rule, match=replace(match, company=match.company.lower()))


def _struct(raw: bytes | Raw, form: type[S], place: str, **given: object) -> S:
    """The object at a place, empty for the document; `given` is what it need not have."""
    if not place and len(raw) > LONGEST_DOCUMENT:
        raise errors.LONG_DOCUMENT(limit=LONGEST_DOCUMENT)
    found = _decoded(raw, dict[str, Raw], place)
    name = repeated(MEMBERS.decode(raw))
    if name is not None:
        raise errors.TWICE(_place_of(name[:40], place), what=name, place=place or "the document")
    known = {each.encode_name: each for each in fields(form)}
    for name, value in found.items():
        where = _place_of(name[:40], place)
        if name not in known:
            owner, members = place or "The document", ", ".join(known)
            raise errors.UNKNOWN_MEMBER(where, known=known, owner=owner, name=name, members=members)
        given[known[name].name] = _value(value, known[name].type, where)
    for each in known.values():
        if each.required and each.name not in given:
            where = _place_of(each.encode_name, place)
            raise errors.MISSING(where, place=where)
    return form(**given)


def _value(raw: Raw, form: type, place: str) -> object:
    if form is Fault:
        return parse_fault(str(_decoded(raw, Text, place)), place)
    return _struct(raw, Match, place) if form is Match else _decoded(raw, form, place)


def _decoded(raw: bytes | Raw, form: type[T], place: str) -> T:
    """A value of a type, whose description says what to send; raises `Refusal`."""
    target, where = place or None, place or "the document"
    try:
        return msgspec.json.decode(raw, type=form)
    except msgspec.ValidationError:
        shown = bytes(raw).decode("utf-8", "replace").strip('"')
        raise _invalid(target, shown, where, form) from None
    except UnicodeDecodeError:
        raise errors.NOT_UTF_8(target, place=where) from None
    except msgspec.DecodeError as error:
        raise errors.MALFORMED(target, place=where, reason=json_error(error)) from None
    except RecursionError:
        raise errors.NESTED(target, place=where) from None


def _invalid(target: str | None, value: str, place: str, form: object) -> Refusal:
    # a member without a value by default is a union with None
    parts = [part for each in (form, *get_args(form)) for part in get_args(each)]
    wanted = [each.description or "" for each in parts if isinstance(each, Meta)]
    return errors.INVALID(target, value=value, place=place, wanted=(*wanted, "an object")[0])


def _place_of(name: str, owner: str) -> str:
    return f"{owner}.{name}" if owner else name
