"""Random expressions, pipelines and searches over random records have the results of Python."""

from functools import cmp_to_key

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.apply_evaluator import PIPELINES, Pipeline, Shown
from support.client import page, pages
from support.companies import Company
from support.effort import examples
from support.evaluator import Operand, Plain, Scope, Specimen, Unfit, cell, precedes
from support.random_expressions import CONDITIONS, data_sets, orders
from support.refusals import refusal
from support.search_evaluator import SEARCHES, TEXTS, Search
from support.service import Service

PLAIN = {"Accept": "application/json;odata.metadata=none;IEEE754Compatible=true"}

# records are loaded for each example, so one brings several expressions
patient = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
many = settings(patient, max_examples=examples(6), derandomize=True)


def _loaded(service: Service, records: list[Specimen]) -> Company:
    company = service.new_company()
    company.load(
        "specimensExt",
        *({name: cell(value) for name, value in record.items()} for record in records),
    )
    return company


def _held(operand: Operand, records: list[Specimen]) -> dict[str, Plain | None] | None:
    """The value of an expression for each record; None when one has none that fits."""
    try:
        return {str(each["code"]): operand.of(Scope(each, records, {})) for each in records}
    except Unfit:
        return None


@many
@given(records=data_sets(), conditions=st.lists(CONDITIONS, min_size=8, max_size=20))
def test_a_filter_finds_what_python_finds(
    specimen_service: Service, records: list[Specimen], conditions: list[Operand]
) -> None:
    company = _loaded(specimen_service, records)

    for condition in conditions:
        held = _held(condition, records)
        answer = company.get("specimensExt", {"$filter": condition.text, "$count": "true"})

        if answer.status_code == 400:
            message = refusal(answer, "BadRequest_InvalidRequestUrl").message
            # a divisor that is written as zero is refused, whatever the records have
            assert "divisor" in message or (
                held is None and ("computed" in message or "has no result" in message)
            ), (condition.text, message)
        elif held is not None:
            assert answer.status_code == 200, (condition.text, answer.text)
            found = [str(each["code"]) for each in page(answer).value]
            expected = [code for code, holds in held.items() if holds is True]
            assert sorted(found) == sorted(expected), condition.text
            assert page(answer).count == len(expected)


@many
@given(records=data_sets(), wanted=st.lists(orders(), min_size=3, max_size=8))
def test_an_order_sorts_as_python_sorts_over_pages_of_any_size(
    specimen_service: Service, records: list[Specimen], wanted: list[list[tuple[Operand, bool]]]
) -> None:
    company = _loaded(specimen_service, records)

    for order in wanted:
        keys = [(_held(operand, records), down) for operand, down in order]
        if any(held is None for held, _ in keys):
            continue
        text = ",".join(f"{each.text}{' desc' if down else ''}" for each, down in order)
        read = pages(company, "specimensExt", {"$orderby": f"{text},rank"}, 3)
        found = [each["code"] for records in read for each in records]

        def compare(one: Specimen, other: Specimen, keys: object = keys) -> int:
            assert isinstance(keys, list)
            for held, down in keys:
                sign = precedes(held[one["code"]], held[other["code"]])
                if sign:
                    return -sign if down else sign
            return precedes(one["rank"], other["rank"])

        expected = [each["code"] for each in sorted(records, key=cmp_to_key(compare))]
        assert found == expected, text


class Result(msgspec.Struct):
    value: list[dict[str, Shown]]


@many
@given(records=data_sets(), pipelines=st.lists(PIPELINES, min_size=5, max_size=15))
def test_a_pipeline_returns_the_same_as_python(
    specimen_service: Service, records: list[Specimen], pipelines: list[Pipeline]
) -> None:
    company = _loaded(specimen_service, records)
    in_order = sorted(records, key=lambda record: str(record["code"]))

    for pipeline in pipelines:
        answer = company.get("specimensExt", {"$apply": pipeline.text}, PLAIN)
        try:
            expected = pipeline.rows(in_order)
        except Unfit:
            # what nothing needs in the end may be left uncomputed
            if answer.status_code != 200:
                refusal(answer, "BadRequest_InvalidRequestUrl")
            continue

        assert answer.status_code == 200, (pipeline.text, answer.text)
        assert msgspec.json.decode(answer.content, type=Result).value == expected, pipeline.text


Records = dict[int, tuple[str, str]]
RECORDS = st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=12)
CHANGES = st.dictionaries(st.integers(0, 11), TEXTS, max_size=6)


def _load(company: Company, records: Records) -> None:
    company.load("specimensExt", *(_row(number, *each) for number, each in records.items()))


def _row(number: int, text: str, series: str) -> dict[str, str | int]:
    return {"code": f"#{number}", "rank": number, "text": text, "series": series}


def _check(company: Company, records: Records, searches: list[Search]) -> None:
    for search in searches:
        found = company.listed("specimensExt", {"$search": search.text})

        expected = {
            number
            for number, (text, series) in records.items()
            if search.finds([f"#{number}", text, text[::-1], series])
        }
        assert {each["rank"] for each in found} == expected, search.text
        assert len(found) == len(expected)


@settings(patient, max_examples=examples(8))
@given(
    records=RECORDS,
    changes=CHANGES,
    added=RECORDS,
    deleted=st.sets(st.integers(0, 11), max_size=4),
    searches=st.lists(SEARCHES, min_size=3, max_size=8),
    indexes=st.tuples(st.booleans(), st.booleans()),
)
def test_a_search_finds_the_same_as_python(
    specimen_service: Service,
    records: list[tuple[str, str]],
    changes: dict[int, str],
    added: list[tuple[str, str]],
    deleted: set[int],
    searches: list[Search],
    indexes: tuple[bool, bool],
) -> None:
    """Before and after creates, updates and deletes, each time with an index or without."""
    company = specimen_service.new_company()
    held = dict(enumerate(records))
    _load(company, held)
    if indexes[0]:
        company.catch_up("specimensExt")
    _check(company, held, searches)

    keys = {each["rank"]: each["id"] for each in company.listed("specimensExt")}
    for number in deleted & held.keys():
        path = f"specimensExt({keys[number]})"
        assert company.delete(path, if_match="*").status_code == 204
        del held[number]
    held |= {number: (changes[number], held[number][1]) for number in held.keys() & changes.keys()}
    held |= dict(enumerate(added, len(records)))
    _load(company, held)
    if indexes[1]:
        company.catch_up("specimensExt")
    _check(company, held, searches)
