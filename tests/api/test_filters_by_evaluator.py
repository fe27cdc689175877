"""Random expressions over random records have the results of a plain Python evaluator."""

from functools import cmp_to_key

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.client import page
from support.companies import Company
from support.effort import examples
from support.evaluator import Operand, Plain, Scope, Specimen, Unfit, cell, precedes
from support.random_expressions import CONDITIONS, data_sets, orders
from support.refusals import refusal
from support.service import Service

# A data set is loaded for each example, so one brings several expressions.
many = settings(
    max_examples=examples(36),
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


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
    headers = {"Prefer": "odata.maxpagesize=3"}

    for order in wanted:
        keys = [(_held(operand, records), down) for operand, down in order]
        if any(held is None for held, _ in keys):
            continue
        text = ",".join(f"{each.text}{' desc' if down else ''}" for each, down in order)
        answer = company.get("specimensExt", {"$orderby": f"{text},rank"}, headers)
        read = page(answer)
        found = read.value
        while read.next_link is not None:
            read = page(company.follow(read.next_link, headers))
            found += read.value

        def compare(one: Specimen, other: Specimen, keys: object = keys) -> int:
            assert isinstance(keys, list)
            for held, down in keys:
                sign = precedes(held[one["code"]], held[other["code"]])
                if sign:
                    return -sign if down else sign
            return precedes(one["rank"], other["rank"])

        expected = [each["code"] for each in sorted(records, key=cmp_to_key(compare))]
        assert [each["code"] for each in found] == expected, text
