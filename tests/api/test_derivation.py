"""Derived properties, for bodies that omit them."""

from itertools import pairwise

import pytest

from support.client import Record, record
from support.companies import Company
from support.groups import Part, run_group, shown
from support.refusals import refusal
from support.service import Service
from support.together import together

COMPANY: Record = {"number": "C1", "type": "Company", "displayName": "Kontor AG"}


def created(company: Company, body: Record) -> str:
    """Create a contact; returns its address."""
    return f"contactsExt({record(company.post('contactsExt', body), 201)['id']})"


def updated(company: Company, path: str, body: Record) -> Record:
    return record(company.patch(path, body, if_match="*"))


@together(
    ("name", "search"),
    [
        ("Annette Hill", "ANNETTE HILL"),
        ("Weiß", "WEISS"),
        ("ﬁn", "FIN"),
        ("\u0149 \u01f0", "\u02bcN J\u030c"),
        ("éàñ", "ÉÀÑ"),
        ("\u0131i", "II"),
        ("سلام 中文 😀", "سلام 中文 😀"),
    ],
)
def test_the_search_name_is_the_name_in_upper_case(
    name: str, search: str, company: Company
) -> None:
    path = created(company, {"displayName": name})

    assert company.record(path)["searchName"] == search
    assert updated(company, path, {"displayName": f"{name}!"})["searchName"] == f"{search}!"


def test_a_search_name_that_is_sent_is_kept(company: Company) -> None:
    path = created(company, {"displayName": "A", "searchName": "own"})

    assert company.record(path)["searchName"] == "own"
    assert updated(company, path, {"displayName": "B", "searchName": "b"})["searchName"] == "b"


def test_a_search_name_is_ordinary_while_the_name_does_not_change(company: Company) -> None:
    path = created(company, {"displayName": "A"})

    assert updated(company, path, {"searchName": "own"})["searchName"] == "own"
    assert updated(company, path, {"city": "Graz"})["searchName"] == "own"
    assert updated(company, path, {"displayName": "A", "city": "Wien"})["searchName"] == "own"
    assert updated(company, path, {"displayName": "C"})["searchName"] == "C"


def test_the_company_name_follows_the_number_of_a_company(company: Company) -> None:
    created(company, COMPANY)
    created(company, {**COMPANY, "number": "C2", "displayName": "Büro KG"})

    path = created(company, {"displayName": "Ann", "companyNumber": "C1"})

    assert company.record(path)["companyName"] == "Kontor AG"
    assert updated(company, path, {"companyNumber": "C2"})["companyName"] == "Büro KG"


@pytest.mark.parametrize("number", ["C9", "P1", "", "c1", "C1 ", "C%"])
def test_the_company_name_is_ordinary_without_a_matching_company(
    number: str, company: Company
) -> None:
    """The number names no contact of type Company."""
    created(company, COMPANY)
    created(company, {"number": "P1", "type": "Person", "displayName": "Not a company"})
    created(company, {"number": "", "type": "Company", "displayName": "Without a number"})

    path = created(company, {"displayName": "Ann", "companyNumber": number, "companyName": "Own"})

    assert company.record(path)["companyName"] == "Own"
    assert updated(company, path, {"companyName": "Other"})["companyName"] == "Other"
    assert updated(company, path, {"city": "Graz"})["companyName"] == "Other"
    assert updated(company, path, {"companyNumber": "C1"})["companyName"] == "Kontor AG"
    assert updated(company, path, {"companyNumber": number})["companyName"] == "Kontor AG"


def test_a_company_name_that_is_sent_is_kept_until_the_next_change(company: Company) -> None:
    created(company, COMPANY)

    path = created(company, {"displayName": "Ann", "companyNumber": "C1", "companyName": "Own"})

    assert company.record(path)["companyName"] == "Own"
    assert updated(company, path, {"city": "Graz"})["companyName"] == "Kontor AG"


def test_a_company_may_name_itself(company: Company) -> None:
    path = created(company, {**COMPANY, "companyNumber": "C1"})

    assert company.record(path)["companyName"] == "Kontor AG"
    assert updated(company, path, {"displayName": "Kontor SE"})["companyName"] == "Kontor SE"
    renumbered = updated(company, path, {"number": "C2", "displayName": "Kontor XL"})
    assert renumbered["companyName"] == "Kontor SE"


def test_a_person_that_names_itself_has_no_company(company: Company) -> None:
    path = created(
        company, {"number": "P1", "type": "Person", "displayName": "Ann", "companyNumber": "P1"}
    )

    assert company.record(path)["companyName"] == ""
    assert updated(company, path, {"type": "Company"})["companyName"] == "Ann"


def test_a_renamed_company_does_not_change_other_contacts(company: Company) -> None:
    """Its people get the new name when they change."""
    path = created(company, COMPANY)
    person = created(company, {"displayName": "Ann", "companyNumber": "C1"})
    before, count = company.record(person), len(company.changes())

    updated(company, path, {"displayName": "Kontor SE"})

    assert company.record(person) == before
    assert len(company.changes()) == count + 1
    assert updated(company, person, {"city": "Graz"})["companyName"] == "Kontor SE"


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


def test_another_key_in_an_update_is_ignored(company: Company) -> None:
    path = created(company, {"displayName": "A"})
    before = company.record(path)

    for key in ("00000000-0000-4000-8000-000000000000", "nonsense", 5):
        after = updated(company, path, {"id": key})
        assert after == before


def test_a_free_key_in_a_create_is_used_and_a_taken_one_is_409(company: Company) -> None:
    key = "ABCDEFAB-0000-4000-8000-000000000000"
    path = created(company, {"displayName": "A", "id": key})

    answer = company.post("contactsExt", {"displayName": "B", "id": key.lower()})

    assert path == f"contactsExt({key.lower()})"
    assert answer.status_code == 409
    assert company.record(path)["displayName"] == "A"


def test_creates_without_a_key_get_different_keys(company: Company) -> None:
    assert len({created(company, {"displayName": "A"}) for _ in range(20)}) == 20


def test_a_name_whose_upper_case_form_is_too_long_is_refused(company: Company) -> None:
    """The upper-case form of ß is SS. The record could not be loaded from its own dump."""
    answer = company.post("contactsExt", {"displayName": "ß" * 2_001})

    assert "searchName" in refusal(answer, "BadRequest", "displayName").message
    assert company.changes() == []


def test_a_contact_that_was_its_own_company_does_not_follow_its_old_number(
    company: Company,
) -> None:
    body = {"number": "OLD", "type": "Company", "displayName": "A", "companyNumber": "OLD"}
    contact = record(company.post("contactsExt", body), 201)

    changes = {"number": "NEW", "companyName": "kept"}
    path = f"contactsExt({contact['id']})"
    record(company.patch(path, changes, if_match="*"))
    changed = record(company.patch(path, {"city": "Paris"}, if_match="*"))

    assert changed["companyName"] == "kept"


def test_a_record_that_is_renumbered_does_not_follow_its_own_old_number(
    company: Company, service: Service
) -> None:
    path = created(company, COMPANY)

    renamed = Part("PATCH", path, {"displayName": "Kontor SE"}, {"If-Match": "*"})
    renumbered = Part("PATCH", path, {"number": "C2", "companyNumber": "C1"}, {"If-Match": "*"})
    answers = run_group(company, service.settings, renamed, renumbered)

    assert shown(answers[1])["companyName"] == ""
