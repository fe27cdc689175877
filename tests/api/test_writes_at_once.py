"""Concurrent writes: each sees the previous ones, although they share a transaction."""

from collections.abc import Mapping

import httpx
import pytest

from support.client import Record, record, tag_of
from support.companies import Company

CONTACTS = "contactsExt"
UNITS = "unitsOfMeasureExt"
ANY = {"If-Match": "*"}


class Writes:
    """Writes of a company, sent at once, in order."""

    def __init__(self, company: Company) -> None:
        self._company = company
        self._requests: list[httpx.Request] = []

    def post(self, resource: str, **body: object) -> None:
        self._add("POST", resource, body, {"If-None-Match": "*"} if resource == UNITS else {})

    def patch(self, path: str, /, tag: str = "*", **body: object) -> None:
        self._add("PATCH", path, body, {"If-Match": tag})

    def delete(self, path: str) -> None:
        self._add("DELETE", path, None, ANY)

    def send(self) -> list[httpx.Response]:
        # once a company is known, nothing comes between the requests and their transaction
        self._company.listed(UNITS)
        return self._company.carrier.send_all(self._requests)

    def statuses(self) -> list[int]:
        return [each.status_code for each in self.send()]

    def _add(
        self, method: str, path: str, body: Mapping[str, object] | None, headers: Mapping[str, str]
    ) -> None:
        self._requests.append(self._company.build(method, path, body=body, headers=headers))


@pytest.fixture
def writes(company: Company) -> Writes:
    return Writes(company)


def create(company: Company, **body: object) -> Record:
    return record(company.post(CONTACTS, {"displayName": "Somebody", **body}), 201)


def path_of(contact: Record) -> str:
    return f"{CONTACTS}({contact['id']})"


def test_updates_of_one_record_run_in_order(company: Company, writes: Writes) -> None:
    contact = path_of(create(company))
    for number in range(6):
        writes.patch(contact, **{"city" if number % 2 else "state": f"{number}"})

    answers = writes.send()

    assert [each.status_code for each in answers] == [200] * 6
    shown = [(record(each)["state"], record(each)["city"]) for each in answers]
    assert shown == [("0", ""), ("0", "1"), ("2", "1"), ("2", "3"), ("4", "3"), ("4", "5")]
    last = company.get(contact)
    assert (record(last)["state"], record(last)["city"]) == ("4", "5")
    assert [tag_of(last)] == [tag_of(each) for each in answers[-1:]]
    assert [each.number for each in company.changes()] == list(range(1, 8))


def test_derivation_uses_a_name_that_has_just_changed(company: Company, writes: Writes) -> None:
    firms = [
        create(company, type="Company", number=f"C{n}", displayName=f"Old {n}") for n in (1, 2)
    ]
    people = [path_of(create(company, companyNumber=f"C{n}")) for n in (1, 2, 1)]
    before, changed, after = people
    writes.patch(before, city="Here")
    writes.patch(path_of(firms[0]), displayName="New 1")
    writes.patch(changed, companyNumber="C1")
    writes.patch(after, city="There")

    assert writes.statuses() == [200] * 4

    assert [company.record(each)["companyName"] for each in people] == ["Old 1", "New 1", "New 1"]


def test_derivation_uses_a_number_that_has_just_moved(company: Company, writes: Writes) -> None:
    first, second = (
        create(company, type="Company", number=f"C{n}", displayName=f"Name {n}") for n in (1, 2)
    )
    people = [path_of(create(company, companyNumber=f"C{n}")) for n in (1, 2)]
    writes.patch(path_of(first), number="C3")
    writes.patch(path_of(second), number="C1")
    for person in people:
        writes.patch(person, city="There")

    assert writes.statuses() == [200] * 4

    # nobody has the number C2 any more, so that name stays as it was
    assert [company.record(each)["companyName"] for each in people] == ["Name 2", "Name 2"]


def test_derivation_ignores_a_contact_that_is_no_longer_a_company(
    company: Company, writes: Writes
) -> None:
    firm = create(company, type="Company", number="C1", displayName="Firm")
    create(company, type="Company", number="C2", displayName="Other")
    people = [path_of(create(company, city=f"{n}")) for n in range(2)]
    writes.patch(path_of(firm), type="Person")
    for person, number in zip(people, ("C1", "C2"), strict=True):
        writes.patch(person, companyNumber=number)

    assert writes.statuses() == [200] * 3

    assert [company.record(each)["companyName"] for each in people] == ["", "Other"]


def test_a_number_is_free_after_one_write_and_in_use_after_another(
    company: Company, writes: Writes
) -> None:
    contact = path_of(create(company, number="A"))
    writes.post(CONTACTS, displayName="too early", number="A")
    writes.patch(contact, number="B")
    writes.post(CONTACTS, displayName="in time", number="A")
    writes.post(CONTACTS, displayName="too late", number="B")
    writes.post(CONTACTS, displayName="first", number="C")
    writes.post(CONTACTS, displayName="second", number="C")

    assert writes.statuses() == [409, 200, 201, 409, 201, 409]

    names = {each["number"]: each["displayName"] for each in company.listed(CONTACTS)}
    assert names == {"A": "in time", "B": "Somebody", "C": "first"}


def test_a_record_that_has_just_been_deleted_is_404(company: Company, writes: Writes) -> None:
    contact = create(company, number="A")
    writes.patch(path_of(contact), city="Here")
    writes.delete(path_of(contact))
    writes.patch(path_of(contact), city="Nowhere")
    writes.post(CONTACTS, id=contact["id"], displayName="Again", number="A")
    writes.patch(path_of(contact), city="There")

    assert writes.statuses() == [200, 204, 404, 201, 200]

    found = company.record(path_of(contact))
    assert (found["displayName"], found["city"], found["number"]) == ("Again", "There", "A")


def test_a_key_is_used_once(company: Company, writes: Writes) -> None:
    writes.post(UNITS, code="PCS", displayName="first")
    writes.post(UNITS, code="KG", displayName="other")
    writes.post(UNITS, code="PCS", displayName="second")
    writes.patch(f"{UNITS}('PCS')", displayName="changed")

    assert writes.statuses() == [201, 201, 412, 200]

    names = {each["code"]: each["displayName"] for each in company.listed(UNITS)}
    assert names == {"KG": "other", "PCS": "changed"}


def test_concurrent_creates_get_different_numbers(company: Company) -> None:
    """Each attributeId is assigned once."""
    requests = [company.build("POST", "itemAttributesExt", body={"name": "x"}) for _ in range(50)]

    answers = company.carrier.send_all(requests)

    numbers = [int(record(each, 201)["attributeId"]) for each in answers]
    assert sorted(numbers) == list(range(1, 51))


def test_the_later_of_two_concurrent_writes_sees_the_earlier_one(company: Company) -> None:
    """Even if it names the record by a value that the earlier write changes."""
    for number in range(20):
        code = f"{number}"
        record(company.post("shippingAgentsExt", {"code": code}), 201)
        path = f"shippingAgentsExt(code='{code}')"
        requests = [
            company.build("PATCH", path, "", body, {"If-Match": "*"})
            for body in ({"code": f"{code} renamed"}, {"name": "n"})
        ]
        renaming, naming = company.carrier.send_all(requests)

        assert renaming.status_code == 200
        was_first = str(renaming.json()["name"]) == "n"
        assert naming.status_code == (200 if was_first else 404)
