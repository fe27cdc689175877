"""A count is the number of records that the set lists, also after writes of other processes."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.batches import documents
from support.client import page
from support.companies import Company
from support.effort import examples
from support.service import Service, StartService

ACTS = st.sampled_from(["with people", "load", "group", "change", "delete"])
NUMBERS = st.sampled_from("123")


@pytest.fixture(scope="module")
def rehearsed(share_service: StartService) -> Service:
    """A service that creates related records with a record."""
    return share_service(profile="business-central")


@settings(max_examples=examples(12), derandomize=True)
@given(acts=st.lists(st.tuples(ACTS, NUMBERS, st.booleans()), min_size=3, max_size=12))
def test_a_count_is_that_of_the_listed_records(
    acts: Sequence[tuple[str, str, bool]], rehearsed: Service
) -> None:
    """A count is kept, and none follows after some writes."""
    company = rehearsed.new_company()
    for act, number, counts in acts:
        write(company, act, number)
        if counts:
            listed = page(company.get("contactsExt", "$count=true"))
            assert listed.count == len(listed.value)
            alone = company.get("contactsExt/$count").text.removeprefix("\ufeff")
            assert int(alone) == len(listed.value)


def write(company: Company, act: str, number: str) -> None:
    """A unit of work of the service, or of another process; one that conflicts does nothing."""
    firm = {"number": number, "displayName": "x", "type": "Company"}
    person = {"number": f"P{number}", "displayName": "x", "type": "Person"}
    path = f"contactsExt(number='{number}')"
    match act:
        case "with people":
            related = [{"number": "", "displayName": "x"}, person]
            statuses = {company.post("contactsExt", {**firm, "people": related}).status_code}
        case "group":
            head = {"method": "POST", "url": "contactsExt", "atomicityGroup": "g"}
            bodies = enumerate([person, firm])
            creates = [{**head, "id": f"{at}", "body": body} for at, body in bodies]
            statuses = {each.status for each in documents(company, *creates).values()}
        case "load":
            company.load("contactsExt", firm, person)
            return
        case "change":
            statuses = {company.patch(path, {"city": "Aachen"}, "*").status_code}
        case _:
            statuses = {company.delete(path, "*").status_code}
    assert statuses <= {200, 201, 204, 400, 404, 424}
