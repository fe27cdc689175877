"""Writes by alternate keys, whose records are found when the write is processed."""

from support.batches import documents
from support.client import Record, record
from support.companies import Company

ANY = {"If-Match": "*"}


def agent(company: Company, code: str) -> str:
    return str(record(company.post("shippingAgentsExt", {"code": code}), 201)["id"])


def test_a_write_of_a_group_finds_records_of_earlier_writes(company: Company) -> None:
    group = {"atomicityGroup": "g"}
    answers = documents(
        company,
        {"id": "1", **group, "method": "POST", "url": "shippingAgentsExt", "body": {"code": "A"}},
        {
            "id": "2",
            **group,
            "method": "PATCH",
            "url": "shippingAgentsExt(code='A')",
            "headers": ANY,
            "body": {"name": "n"},
        },
    )

    assert [reply.status for reply in answers.values()] == [201, 200]
    assert answers["2"].read(Record)["id"] == answers["1"].read(Record)["id"]


def test_a_value_identifies_the_record_that_has_it_at_that_time(company: Company) -> None:
    """Within a group, a code moves from one record to another."""
    first, second = agent(company, "A"), agent(company, "B")

    def patch(name: str, path: str, body: Record) -> dict[str, object]:
        url = f"shippingAgentsExt({path})"
        return {
            "id": name,
            "atomicityGroup": "g",
            "method": "PATCH",
            "url": url,
            "headers": ANY,
            "body": body,
        }

    answers = documents(
        company,
        patch("1", first, {"code": "C"}),
        patch("2", second, {"code": "A"}),
        patch("3", "code='A'", {"name": "n"}),
    )

    assert [reply.status for reply in answers.values()] == [200, 200, 200]
    assert answers["3"].read(Record)["id"] == second
    assert company.record(f"shippingAgentsExt({first})")["name"] == ""


def test_the_later_of_two_concurrent_writes_sees_the_earlier_one(company: Company) -> None:
    """Even if it names the record by a value that the earlier write changes."""
    for number in range(20):
        code = f"{number}"
        agent(company, code)
        path = f"shippingAgentsExt(code='{code}')"
        requests = [
            company.build("PATCH", path, "", body, ANY)
            for body in ({"code": f"{code} renamed"}, {"name": "n"})
        ]
        renaming, naming = company.carrier.send_all(requests)

        assert renaming.status_code == 200
        was_first = str(renaming.json()["name"]) == "n"
        assert naming.status_code == (200 if was_first else 404)


def test_a_reference_identifies_the_record_that_a_write_found(company: Company) -> None:
    """Even if the record no longer has the value."""
    key = agent(company, "A")

    answers = documents(
        company,
        {
            "id": "1",
            "method": "PATCH",
            "url": "shippingAgentsExt(code='A')",
            "headers": ANY,
            "body": {"code": "B"},
        },
        {"id": "2", "method": "GET", "url": "$1", "dependsOn": ["1"]},
    )

    assert answers["2"].read(Record)["id"] == key
    assert answers["1"].headers["odata-entityid"] == f"{company.root}/shippingAgentsExt({key})"


def test_within_a_group_a_reference_needs_a_key(company: Company) -> None:
    """The record of such a write is known only after the group."""
    agent(company, "A")
    write = {
        "id": "1",
        "atomicityGroup": "g",
        "method": "PATCH",
        "url": "shippingAgentsExt(code='A')",
        "headers": ANY,
        "body": {"code": "B"},
    }
    to_it = {"method": "PATCH", "url": "$1", "headers": ANY, "body": {"name": "n"}}

    within = documents(company, write, {"id": "2", "atomicityGroup": "g", **to_it})
    behind = documents(company, write, {"id": "2", **to_it})

    assert [reply.status for reply in within.values()] == [424, 400]
    assert [reply.status for reply in behind.values()] == [200, 200]
    assert behind["2"].read(Record)["code"] == "B"
