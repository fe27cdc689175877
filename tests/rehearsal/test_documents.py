"""Faults as clients write them, in headers, documents and files, and what is refused where."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from comptoir.app import application
from comptoir.catalog import MODEL
from comptoir.errors.refusal import OperatorError, Refusal
from comptoir.errors.table import BAD_REQUEST
from comptoir.features.rehearsal.documents import (
    LONGEST_DOCUMENT,
    MOST_RULES,
    parse_header,
    parse_rule,
    parse_rules,
)
from comptoir.features.rehearsal.faults import parse_fault
from comptoir.features.rehearsal.rules import Rule
from support.databases import ON_SQLITE
from support.effort import examples
from support.service import StartService
from support.settings import settings_of
from support.together import together

SETS = MODEL.sets


def document(*rules: object, **members: object) -> bytes:
    return json.dumps({"rules": list(rules), **members}).encode()


def refused(parse: Callable[[], object], target: str | None, *parts: str) -> None:
    """The call is refused with 400 at `target`, and its message has the parts."""
    with pytest.raises(Refusal) as caught:
        parse()
    assert caught.value.error is BAD_REQUEST
    assert caught.value.target == target
    for part in parts:
        assert part in caught.value.message


@together(
    ("value", "parts"),
    [
        ("", ["Send one of throttle, away"]),
        ("throtle", ["'throtle'", "Did you mean throttle?"]),
        ("throttle, reset", ["'throttle, reset'"]),
        ("throttle;", ["after each semicolon"]),
        ("throttle; retry-after", ["'retry-after'", "after each semicolon"]),
        ("throttle; retry-after=", ["after each semicolon"]),
        ("throttle; retry-after=x", ["'x' for retry-after", "from 0 to 3600"]),
        ("throttle; retry-after=3601", ["'3601'", "from 0 to 3600"]),
        ("throttle; retry-after=1.5", ["an integer"]),
        ("throttle; retry-after=-1", ["'-1'"]),
        ("throttle; retry-after=\uff11", ["from 0 to 3600"]),
        ("throttle; retry-after=1; retry-after=2", ["'retry-after'", "given twice"]),
        ("throttle; retry=1", ["no parameter 'retry'", "Did you mean retry-after?"]),
        ("lock; x=1", ["no parameter 'x'", "Remove it."]),
        ("slow; seconds=nan", ["a number from 0.001 to 600"]),
        ("slow; seconds=1e9", ["a number from 0.001 to 600"]),
        ("timeout; seconds=0.0001", ["a number from 0 to 600"]),
        ("timeout; status=404", ["Send 408 or 504."]),
        ("page-shift; n=-101", ["from -100 to 100"]),
        ("link-expired; page=1", ["from 2"]),
        ("touch; field=a b", ["the name of a property"]),
        ("stale-read; lag=1; seconds=2", ["exclude each other"]),
        ("reset; bytes=3", ["no effect without phase=body"]),
        ("away; window=60", ["window", "Use a rule."]),
        ("hook; mode=drop", ["hook", "Use a rule."]),
        ("stale-read; lag=2", ["stale-read", "Use a rule."]),
        ("lock; times=1", ["only one of times and key"]),
        ("lock; key=abc", ["only one of times and key"]),
        ("lock; times=0; key=a", ["'0' for times"]),
        ("lock; times=²; key=a", ["'²' for times"]),
        ("lock; times=1; key=ü", ["'ü' for key"]),
        ("x" * 401, ["limit of 400 characters"]),
    ],
)
def test_a_malformed_header_is_refused(value: str, parts: list[str]) -> None:
    refused(lambda: parse_header(value), "Comptoir-Fault", "Comptoir-Fault", *parts)


@settings(max_examples=examples(40))
@given(st.text() | st.from_regex(r"(throttle|reset|touch)(; ?[a-z-]{1,12}=[^;]{0,9}){0,3}"))
def test_any_header_is_a_rule_or_refused(value: str) -> None:
    refusal, rule = None, None
    try:
        rule = parse_header(value)
    except Refusal as caught:
        refusal = caught
    if rule is not None:
        again = json.dumps({"fault": rule.fault.text}).encode()
        assert parse_rule(again, "again", SETS).fault == rule.fault
    assert refusal is None or refusal.target == "Comptoir-Fault"


@together(
    ("written", "completed"),
    [
        ("throttle", "throttle"),
        ("away", "away; kind=json"),
        ("slow", "slow; seconds=5; kind=first-byte"),
        ("timeout", "timeout; status=408; phase=before; seconds=0"),
        ("timeout; seconds=0.001", "timeout; status=408; phase=before; seconds=0.001"),
        ("reset", "reset; phase=before"),
        ("reset; phase=body", "reset; phase=body; bytes=0"),
        ("stale-read", "stale-read; lag=1; reads=all"),
        ("stale-read; seconds=2", "stale-read; seconds=2; reads=all"),
        ("link-expired", "link-expired; page=2"),
        ("page-shift", "page-shift; n=1"),
        ("batch-rollback", "batch-rollback; index=0"),
        ("body", "body; kind=truncated"),
    ],
)
def test_a_fault_has_the_defaults_of_its_parameters(written: str, completed: str) -> None:
    assert parse_fault(written, "here").text == completed


@together(
    ("rule", "place", "parts"),
    [
        (None, "rules[1]", ["Send an object."]),
        ({}, "rules[1].fault", ["is missing"]),
        ({"fault": ""}, "rules[1].fault", ["1 to 500 characters"]),
        ({"fault": {"name": "lock"}}, "rules[1].fault", ["Send text of 1"]),
        ({"fault": "lok"}, "rules[1].fault", ["Did you mean lock?"]),
        ({"fault": "lock; times=1"}, "rules[1].fault", ["as a member of the rule"]),
        ({"fault": "lock", "tims": 1}, "rules[1].tims", ["Did you mean times?"]),
        ({"fault": "lock", "id": "a b"}, "rules[1].id", ["'a b'"]),
        ({"fault": "lock", "id": "rule-0"}, "rules[1].id", ["given twice"]),
        ({"fault": "lock", "times": 0}, "rules[1].times", ["from 1 to"]),
        ({"fault": "lock", "times": -1}, "rules[1].times", ["from 1 to"]),
        ({"fault": "lock", "times": 1.5}, "rules[1].times", ["from 1 to"]),
        ({"fault": "lock", "times": True}, "rules[1].times", ["from 1 to"]),
        ({"fault": "lock", "times": 10**30}, "rules[1].times", ["from 1 to"]),
        ({"fault": "lock", "seed": -1}, "rules[1].seed", ["from 0 to"]),
        ({"fault": "lock", "probability": 0}, "rules[1].probability", ["above 0, at most 1"]),
        ({"fault": "lock", "probability": 1.01}, "rules[1].probability", ["'1.01'"]),
        ({"fault": "lock", "probability": "1"}, "rules[1].probability", ["a number above 0"]),
        ({"fault": "lock", "match": []}, "rules[1].match", ["Send an object."]),
        ({"fault": "lock", "match": {"methd": 1}}, "rules[1].match.methd", ["mean method?"]),
        ({"fault": "lock", "match": {"kind": "a"}}, "rules[1].match.kind", ["path, set, client"]),
        ({"fault": "lock", "match": {"method": "patch"}}, "rules[1].match.method", ["'patch'"]),
        ({"fault": "lock", "match": {"method": "GET"}}, "rules[1].fault", ["on GET", "PATCH"]),
        ({"fault": "lock", "match": {"set": "contact"}}, "rules[1].match.set", ["contactsExt?"]),
        ({"fault": "lock", "match": {"set": "zzzz"}}, "rules[1].match.set", ["$metadata"]),
        ({"fault": "lock", "match": {"client": ""}}, "rules[1].match.client", ["''"]),
        ({"fault": "lock", "match": {"nth": 0}}, "rules[1].match.nth", ["from 1 to"]),
        ({"fault": "lock", "match": {"path": "*" * 11}}, "rules[1].match.path", ["up to 10 *"]),
        ({"fault": "lock", "match": {"path": "a" * 501}}, "rules[1].match.path", ["500"]),
        ({"fault": "lock", "match": {"path": "api/*"}}, "rules[1].match.path", ["'api/*'", "root"]),
    ],
)
def test_a_malformed_rule_is_refused_with_its_place(
    rule: object, place: str, parts: list[str]
) -> None:
    refused(lambda: parse_rules(document({"fault": "vanish"}, rule), SETS), place, *parts)


@together(
    ("body", "target", "parts"),
    [
        (b"", None, ["Malformed JSON"]),
        (b"{", None, ["Malformed JSON"]),
        (b"[]", None, ["Send an object."]),
        (b'{"preset": "\xff"}', "preset", ["not UTF-8"]),
        (b"{}", None, ["exactly one of rules and preset"]),
        (b'{"rules": [], "preset": "monday"}', None, ["exactly one of rules and preset"]),
        (b'{"preset": "munday"}', "preset", ["Did you mean monday?"]),
        (b'{"preset": "zzz"}', "preset", ["Send one of bad-day, update-night, monday."]),
        (b'{"preset": "monday", "seed": 1e999}', "seed", ["an integer from 0"]),
        (b'{"preset": "monday", "seed": ' + b"9" * 9_000 + b"}", "seed", ["an integer from 0"]),
        (b'{"rules": [], "rules": []}', "rules", ["'rules' in the document is given twice"]),
        (b'{"rules": [{"fault": "lock", "fault": "lock"}]}', "rules[0].fault", ["given twice"]),
        (b'{"rule": []}', "rule", ["Did you mean rules?"]),
        (b'{"rules": {}}', "rules", ["an array of objects"]),
        (b" " * (LONGEST_DOCUMENT + 1), None, [f"{LONGEST_DOCUMENT} bytes"]),
        (document(*[{"fault": "lock"}] * (MOST_RULES + 1)), "rules", [f"up to {MOST_RULES}"]),
    ],
)
def test_a_malformed_document_is_refused(body: bytes, target: str | None, parts: list[str]) -> None:
    refused(lambda: parse_rules(body, SETS), target, *parts)


def test_a_deep_document_is_refused() -> None:
    for body in (
        b"[" * LONGEST_DOCUMENT,
        b'{"a":' * 10_000 + b"1" + b"}" * 10_000,
        b'{"rules": ' + b"[" * 30_000 + b"]" * 30_000 + b"}",
        b'{"rules": [{"fault": "lock", "match": ' + b"[" * 30_000 + b"]" * 30_000 + b"}]}",
    ):
        # the depth that msgspec accepts, and so the message, depends on the release of Python
        with pytest.raises(Refusal) as caught:
            parse_rules(body, SETS)
        assert caught.value.error is BAD_REQUEST


@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text(),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["id", "match", "fault", "times", "set", "nth"]) | st.text(),
                inner,
                max_size=4,
            )
        ),
        max_leaves=12,
    )
)
def test_any_json_is_a_rule_or_refused(value: object) -> None:
    refusal, rules = None, tuple[Rule, ...]()
    try:
        rules = parse_rules(document(value), SETS)
    except Refusal as caught:
        refusal = caught
    assert parse_rules(document(*(each.listed for each in rules)), SETS) == rules
    assert refusal is None or (refusal.target or "").startswith("rules[0]")


def rules_file(folder: Path, content: str) -> str:
    path = folder / "rules.json"
    path.write_text(content)
    return str(path)


@ON_SQLITE
def test_a_file_has_the_first_rules(start_service: StartService, tmp_path: Path) -> None:
    path = rules_file(tmp_path, '{"rules": [{"id": "first", "fault": "vanish"}]}')
    service = start_service(faults="on", fault_rules=path)
    company = service.new_company()
    assert company.get("contactsExt").headers["comptoir-fault-applied"] == "first"
    assert "rule first: vanish" in service.origin.get("readyz").text


def test_a_wrong_file_prevents_the_start(tmp_path: Path) -> None:
    for content, problem in (
        (None, "cannot be read"),
        ("{", "JSON"),
        (
            '{"rules": [{"fault": "lok"}]}',
            "rules.json: Invalid value 'lok' for rules[0].fault. Did you mean lock?",
        ),
        ('{"rules": [{"fault": "touch; field=nothing"}]}', "rules[0].fault"),
        ('{"preset": "bad-dya"}', "bad-dya"),
    ):
        path = str(tmp_path / "none.json") if content is None else rules_file(tmp_path, content)
        settings = settings_of(keys=str(tmp_path / "keys"), faults="on", fault_rules=path)
        with pytest.raises(OperatorError) as refused:
            application(settings)
        assert path in str(refused.value)
        assert problem in str(refused.value)
