"""How each profile writes values. Both serve one database, so neither may send the other's JSON."""

import re
from base64 import b64decode
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, product

import msgspec
import pytest

from comptoir.config import load_settings
from comptoir.errors.refusal import OperatorError
from support.client import page, pages, record, tag_of
from support.companies import Company
from support.databases import FreshDatabase
from support.service import Service

OPTIONS = (" ", "", "Customer", "Vendor", "Bar Code", "Unknown here")
"""Values of `referenceType` in files: empty ones, captions, and what Business Central lacks."""

NAMES = {"": "_x0020_", " ": "_x0020_", "Bar Code": "Bar_x0020_Code"}


@pytest.fixture(scope="module")
def companies(
    fresh_database: FreshDatabase, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Company, Company]]:
    """A company as `standard` and `business-central` serve it."""
    folder = tmp_path_factory.mktemp("forms")
    with (
        Service(fresh_database, folder) as plain,
        Service(fresh_database, folder, profile="business-central") as rehearsed,
    ):
        company = plain.new_company()
        company.load("itemsExt", {"number": "I"})
        references = [
            {"itemNo": "I", "referenceNo": f"R{number}", "referenceType": option}
            for number, option in product(range(3), OPTIONS)
        ]
        company.load("itemReferencesExt", *references)
        client = rehearsed.client
        yield company, replace(company, carrier=client.carrier, token=client.token)


def test_enumerations_have_names_or_captions(companies: tuple[Company, Company]) -> None:
    """Whichever of the two services has written the record or read it first."""
    plain, rehearsed = companies
    writes = (plain, "Bar Code"), (rehearsed, "Bar_x0020_Code"), (rehearsed, "Bar Code")
    for number, (writer, sent) in enumerate(writes):
        made = {"itemNo": "I", "referenceNo": f"N{number}", "referenceType": sent}
        created = record(writer.post("itemReferencesExt", made), 201)
        assert created["referenceType"] == ("Bar Code" if writer is plain else "Bar_x0020_Code")
        path = f"itemReferencesExt({created['id']})"
        for _ in range(2):
            assert plain.record(path)["referenceType"] == "Bar Code"
            assert rehearsed.record(path)["referenceType"] == "Bar_x0020_Code"
        for name in ("Bar_x0020_Code", "Bar Code"):
            query = {"$filter": f"referenceType eq '{name}' and id eq {created['id']}"}
            assert len(rehearsed.listed("itemReferencesExt", query)) == 1
        plain.delete(path, "*")


def test_a_request_may_want_captions(companies: tuple[Company, Company]) -> None:
    """In every response to it, whichever form another request has had before."""
    _, rehearsed = companies
    kinds = {"2.0": "Bar_x0020_Code", "1.0": "Bar Code"}
    for number, version in enumerate(("1.0", "2.0", "1.0")):
        kind, option = kinds[version], {"$schemaversion": version}
        made = {"itemNo": "I", "referenceNo": f"C{number}", "referenceType": "Bar Code"}
        created = record(rehearsed.request("POST", "itemReferencesExt", option, made), 201)
        assert created["referenceType"] == kind
        path = f"itemReferencesExt({created['id']})"
        assert record(rehearsed.get(path, option))["referenceType"] == kind
        assert record(rehearsed.get(f"{path}/referenceType", option))["value"] == kind
        selected = {**option, "$select": "referenceType"}
        assert record(rehearsed.get(path, selected))["referenceType"] == kind
        for sent in kinds.values():
            query = {**option, "$filter": f"referenceType eq '{sent}' and id eq {created['id']}"}
            (found,) = rehearsed.listed("itemReferencesExt", query)
            assert found["referenceType"] == kind
        values = {"referenceType": kind, "description": "D"}
        changed = rehearsed.request("PATCH", path, option, values, {"If-Match": "*"})
        assert record(changed)["referenceType"] == kind
        # the links to further pages have the option, too
        of_all = {**option, "$filter": "referenceType eq 'Bar Code'"}
        first = rehearsed.get("itemReferencesExt", of_all, {"Prefer": "odata.maxpagesize=1"})
        second = page(rehearsed.follow(str(page(first).next_link)))
        assert second.value[0]["referenceType"] == kind
        rehearsed.delete(path)
    url = f"companies({rehearsed.id})"
    at_root = replace(rehearsed, root=rehearsed.root.partition("/companies(")[0])
    for version in ("1.0", "2.0"):
        query = {"$schemaversion": version, "$expand": "itemReferencesExt", "$select": "id"}
        kinds_found = msgspec.json.decode(at_root.get(url, query).content)["itemReferencesExt"]
        assert kinds[version] in {each["referenceType"] for each in kinds_found}


def test_the_interface_shows_a_blank(companies: tuple[Company, Company]) -> None:
    companies[0].load("customersExt", {"number": "10000", "blocked": " ", "type": "Company"})
    for company in companies:
        (customer,) = company.listed("customersExt")
        assert (customer["blocked"], customer["type"]) == (" ", "Company")


def test_pages_by_an_enumeration_have_every_record(companies: tuple[Company, Company]) -> None:
    """In the same order, although the two values for the blank option have one name."""
    for order in ("referenceType,referenceNo", "referenceType desc"):
        read = []
        for company in companies:
            records = chain(*pages(company, "itemReferencesExt", {"$orderby": order}, 2))
            read.append([(each["id"], each["referenceType"]) for each in records])
        assert len(read[0]) == 3 * len(OPTIONS)
        assert read[1] == [(key, NAMES.get(str(option), option)) for key, option in read[0]]


def test_times_have_no_zeros_at_the_end(companies: tuple[Company, Company]) -> None:
    plain, rehearsed = companies
    times = {
        "2026-01-31T12:30:00Z": "2026-01-31T12:30:00Z",
        "2026-01-31T12:30:00.500Z": "2026-01-31T12:30:00.5Z",
        "2026-01-31T12:30:00.12Z": "2026-01-31T12:30:00.12Z",
    }
    for number, (sent, short) in enumerate(times.items()):
        unit = {"code": f"U{number}", "lastModifiedDateTime": sent}
        created = record(rehearsed.post("unitsOfMeasureExt", unit), 201)
        assert created["lastModifiedDateTime"] == short
        path = f"unitsOfMeasureExt('U{number}')"
        for _ in range(2):
            assert re.search(r"\.\d{3}Z$", str(plain.record(path)["lastModifiedDateTime"]))
            assert rehearsed.record(path)["lastModifiedDateTime"] == short
        query = {"$filter": f"lastModifiedDateTime eq {short} and code eq 'U{number}'"}
        assert len(rehearsed.listed("unitsOfMeasureExt", query)) == 1
        # the value that was read may be sent again
        again = {"lastModifiedDateTime": short, "symbol": "u"}
        assert record(rehearsed.patch(path, again, "*"))["symbol"] == "u"


def test_tags_are_two_numbers_in_base64(companies: tuple[Company, Company]) -> None:
    """Each service accepts the tags that it sent, in every place where a record has one."""
    plain, rehearsed = companies
    made = record(rehearsed.post("shippingAgentsExt", {"code": "TAG"}), 201)
    path = f"shippingAgentsExt({made['id']})"
    tags = [str(made["@odata.etag"])]
    read = rehearsed.get(path)
    tags += [tag_of(read), str(record(read)["@odata.etag"])]
    tags += [str(each["@odata.etag"]) for each in rehearsed.listed("shippingAgentsExt")]
    assert len(tags) == 4
    (tag,) = set(tags)
    match = re.fullmatch(r'W/"([A-Za-z0-9+/=]+)"', tag)
    assert match is not None
    numbers = re.fullmatch(r"'19;(\d{10})(\d{9})1;00;'", b64decode(match[1]).decode())
    assert numbers is not None
    plain_tag = tag_of(plain.get(path))
    assert plain_tag == f'W/"{int(numbers[1]):08x}.{int(numbers[2])}"'

    assert rehearsed.get(path, headers={"If-None-Match": tag}).status_code == 304
    changed = rehearsed.patch(path, {"name": "One"}, tag)
    assert tag_of(changed) == record(changed)["@odata.etag"] != tag
    assert rehearsed.patch(path, {"name": "Two"}, tag).status_code == 409
    assert rehearsed.patch(path, {"name": "Two"}, 'W/"JzE5OzEn"').status_code == 409
    assert rehearsed.delete(path, tag).status_code == 409
    # a client keeps its tags when the profile changes
    kept = tag_of(plain.get(path))
    assert rehearsed.patch(path, {"name": "Three"}, kept).status_code == 200
    assert plain.patch(path, {"name": "Four"}, tag).status_code == 412


def test_interface_extensions_need_the_profile() -> None:
    with pytest.raises(OperatorError, match="Set profile to business-central, too"):
        load_settings({"interface_extensions": "off"}, {})
