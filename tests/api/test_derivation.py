"""Derived properties, for bodies that omit them."""

from itertools import pairwise

from support.client import Record, record
from support.companies import Company
from support.refusals import refusal
from support.together import together


def created(company: Company, body: Record) -> str:
    """Create a contact; returns its address."""
    return f"contactsExt({record(company.post('contactsExt', body), 201)['id']})"


def updated(company: Company, path: str, body: Record) -> Record:
    return record(company.patch(path, body, if_match="*"))


def test_the_time_of_a_change_is_the_one_in_the_change_log(company: Company) -> None:
    path = created(company, {"displayName": "A"})
    times = [str(company.record(path)["lastModifiedDateTime"])]
    for number in range(20):
        times.append(str(updated(company, path, {"city": f"{number}"})["lastModifiedDateTime"]))

    assert times == [change.at for change in company.changes()]
    assert all(earlier <= later for earlier, later in pairwise(times))


@together("sent", ["2019-04-03T10:20:30.123Z", "", 5])
def test_a_computed_time_in_a_body_is_ignored(sent: str | int, company: Company) -> None:
    path = created(company, {"displayName": "A", "lastModifiedDateTime": sent})
    body: Record = {"city": "Graz", "lastModifiedDateTime": sent}

    time = updated(company, path, body)["lastModifiedDateTime"]

    assert time == company.changes()[-1].at != sent
    count = len(company.changes())
    updated(company, path, {"lastModifiedDateTime": sent})
    assert len(company.changes()) == count


def test_creates_without_a_key_get_different_keys(company: Company) -> None:
    assert len({created(company, {"displayName": "A"}) for _ in range(20)}) == 20


def test_a_name_whose_upper_case_form_is_too_long_is_refused(company: Company) -> None:
    """The upper-case form of ß is SS. The record could not be loaded from its own dump."""
    answer = company.post("contactsExt", {"displayName": "ß" * 2_001})

    assert "searchName" in refusal(answer, "BadRequest", "displayName").message
    assert company.changes() == []


def test_a_unit_has_the_time_of_its_last_change(own_stock: Company) -> None:
    """Only a create stores a sent `lastModifiedDateTime`."""
    created = own_stock.post("unitsOfMeasureExt", {"code": "BOX"}, {"If-Match": "*"})
    sent = {"symbol": "x", "lastModifiedDateTime": "2019-04-03T10:20:30.123Z"}
    changed = own_stock.patch("unitsOfMeasureExt('PCS')", sent, if_match="*")

    times = [record(created, 201)["lastModifiedDateTime"], record(changed)["lastModifiedDateTime"]]
    assert times == [change.at for change in own_stock.changes()[-2:]]
