"""The properties of companies that Business Central has and the interface lacks."""

from collections.abc import Mapping

from support.client import Client, page, record
from support.companies import Company
from support.service import Service
from support.together import together

BLANK_ID = "00000000-0000-0000-0000-000000000000"
BLANK_TIME = "0001-01-01T00:00:00Z"
ADDRESSES = ["/api", "/v2.0/Production/api/v2.0", "/BC/ODataV4", "/BC/api/comptoir/ext/v1.0"]
STANDARD = {"id", "name", "displayName", "lastModifiedDateTime"}
FURTHER = {
    "systemVersion",
    "timestamp",
    "businessProfileId",
    "systemCreatedAt",
    "systemCreatedBy",
    "systemModifiedAt",
    "systemModifiedBy",
}


def client_at(company: Company, address: str) -> Client:
    return Client(company.carrier, f"http://127.0.0.1:8080{address}", company.token)


def plain(found: Mapping[str, object]) -> dict[str, object]:
    """The properties of a record, without its control information."""
    return {name: value for name, value in found.items() if not name.startswith("@")}


def test_a_company_has_the_properties_of_its_profile(company: Company, profile: str) -> None:
    found = plain(client_at(company, "/api").record(f"companies({company.id})"))

    assert set(found) == (STANDARD if profile == "standard" else STANDARD | FURTHER)


def test_the_service_has_values_of_its_own(rehearsed: Company) -> None:
    found = client_at(rehearsed, "/api").record(f"companies({rehearsed.id})")

    number = found["timestamp"]
    assert isinstance(number, int)
    assert found["systemVersion"] == str(number)
    assert found["systemModifiedAt"] == found["lastModifiedDateTime"] != BLANK_TIME
    assert found["systemCreatedAt"] == BLANK_TIME
    assert found["systemCreatedBy"] == found["systemModifiedBy"] == BLANK_ID
    assert found["businessProfileId"] == ""


def test_each_address_has_the_same_company(rehearsed: Company) -> None:
    for address in ADDRESSES:
        expected = plain(client_at(rehearsed, "/api").record(f"companies({rehearsed.id})"))
        here = client_at(rehearsed, address)

        listed = page(here.get("companies", f"$filter=id eq {rehearsed.id}")).value

        assert [plain(each) for each in listed] == [expected]
        assert plain(here.record(f"companies({rehearsed.id})")) == expected


@together(
    "condition",
    [
        "timestamp eq {timestamp}",
        "systemVersion eq '{systemVersion}'",
        "systemModifiedAt eq {systemModifiedAt} and systemCreatedAt eq 0001-01-01T00:00:00Z",
        "systemModifiedAt gt 2020-01-01T00:00:00Z and systemModifiedBy eq " + BLANK_ID,
        "businessProfileId eq '' and systemCreatedBy eq " + BLANK_ID,
        "startswith(systemVersion,'{systemVersion}')",
    ],
)
def test_queries_may_use_them(condition: str, rehearsed: Company) -> None:
    client = client_at(rehearsed, "/api")
    found = client.record(f"companies({rehearsed.id})")
    condition = f"id eq {rehearsed.id} and {condition.format(**found)}"

    query = {"$filter": condition, "$select": "id,timestamp,systemCreatedAt"}
    (selected,) = page(client.get("companies", query)).value

    expected = {name: found[name] for name in ("id", "timestamp", "systemCreatedAt")}
    assert plain(selected) == expected
    excluded = {"$filter": f"not ({condition}) and id eq {rehearsed.id}"}
    assert page(client.get("companies", excluded)).value == []


@together("order", sorted(FURTHER))
def test_pages_may_be_in_their_order(order: str, services: Mapping[str, Service]) -> None:
    service = services["business-central"]
    made = {service.new_company().id for _ in range(3)}
    listed = " or ".join(f"id eq {each}" for each in sorted(made))
    query = {"$filter": listed, "$orderby": f"{order} desc"}
    response = service.client.get("companies", query, {"Prefer": "odata.maxpagesize=1"})
    found = []
    while True:
        read = page(response)
        found += [each["id"] for each in read.value]
        if read.next_link is None:
            break
        response = service.client.follow(read.next_link, {"Prefer": "odata.maxpagesize=1"})

    assert sorted(map(str, found)) == sorted(made)


def test_a_property_has_an_address_and_cannot_be_written(rehearsed: Company) -> None:
    client = client_at(rehearsed, "/api")
    path = f"companies({rehearsed.id})"

    assert record(client.get(f"{path}/systemCreatedAt"))["value"] == BLANK_TIME
    assert client.patch(path, {"systemVersion": "1"}, "*").status_code == 405


def test_metadata_describes_them(company: Company, profile: str) -> None:
    document = client_at(company, "/api").get("$metadata").text

    for name, kind in (
        ("timestamp", "Int64"),
        ("systemVersion", "String"),
        ("systemCreatedBy", "Guid"),
        ("systemModifiedAt", "DateTimeOffset"),
    ):
        declared = f'<Property Name="{name}" Type="Edm.{kind}"'
        assert (declared in document) is (profile == "business-central")
