"""A random filter over random records finds what a plain Python evaluator finds."""

from datetime import date, datetime
from uuid import UUID

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.draws import CONDITIONS, data_sets
from support.evaluator import Condition, Plain, Specimen
from support.office import Cell
from support.service import Service

# A data set is loaded for each example, so one brings several filters.
many = settings(
    max_examples=100,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def _cell(value: Plain) -> Cell:
    if isinstance(value, datetime):
        return value.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    if isinstance(value, UUID | date):
        return str(value)
    return value


@many
@given(records=data_sets(), conditions=st.lists(CONDITIONS, min_size=5, max_size=15))
def test_a_filter_finds_what_python_finds(
    specimen_service: Service, records: list[Specimen], conditions: list[Condition]
) -> None:
    company = specimen_service.new_company()
    company.load(
        "specimensExt",
        *({name: _cell(value) for name, value in record.items()} for record in records),
    )

    for condition in conditions:
        found = company.listed("specimensExt", {"$filter": condition.text})

        expected = {record["code"] for record in records if condition.holds(record)}
        assert {each["code"] for each in found} == expected, condition.text
        assert len(found) == len(expected)
