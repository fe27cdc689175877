"""The properties of companies that Business Central has and the interface lacks."""

from collections.abc import Mapping

from support.client import page
from support.service import Service
from support.together import together

FURTHER = {
    "systemVersion",
    "timestamp",
    "businessProfileId",
    "systemCreatedAt",
    "systemCreatedBy",
    "systemModifiedAt",
    "systemModifiedBy",
}


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
