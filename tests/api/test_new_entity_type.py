"""An entity type is declared once: one that the tests declare works like those of the catalog.

Autogenerate creates its table, as `make migration` does; no other module refers to it.
"""

from support.client import Record, page, record, tag_of
from support.companies import Company
from support.contract import without_control
from support.refusals import refusal
from support.specimen import SPECIMEN

NEW: Record = {
    "code": "A",
    "series": "1",
    "rank": 5,
    "text": "Straße",
    "amount": 1.5,
    "active": True,
    "reference": "abcdef01-2345-4678-9abc-def012345678",
    "day": "2024-02-29",
    "moment": "2024-02-29T12:00:00.000Z",
    "content": "aGVsbG8=",
}


def test_it_is_created_with_all_its_fields_in_order(specimens: Company) -> None:
    created = record(specimens.post("specimensExt", NEW), 201)

    assert list(without_control(created)) == [each.name for each in SPECIMEN.properties]
    assert created.items() >= NEW.items()
    assert (created["mirrored"], created["rate"]) == ("eßartS", 0)
    assert created["changedAt"] == specimens.changes()[0].at


def test_it_is_read(specimens: Company) -> None:
    created = record(specimens.post("specimensExt", NEW), 201)

    answer = specimens.get(f"specimensExt({created['id']})")

    assert record(answer) == created
    assert tag_of(answer) == created["@odata.etag"]


def test_it_is_listed_filtered_sorted_and_paged(specimens: Company) -> None:
    for rank in range(10):
        record(specimens.post("specimensExt", {**NEW, "code": f"{rank}", "rank": rank}), 201)

    query = {"$filter": "rank ge 4 and active", "$orderby": "rank desc", "$count": "true"}
    first = page(specimens.get("specimensExt", query, {"Prefer": "maxpagesize=4"}))
    assert first.next_link is not None
    last = page(specimens.follow(first.next_link))

    assert first.count == 6
    assert [each["rank"] for each in [*first.value, *last.value]] == [9, 8, 7, 6, 5, 4]


def test_it_is_updated_and_derived(specimens: Company) -> None:
    created = specimens.post("specimensExt", NEW)
    path = f"specimensExt({record(created, 201)['id']})"

    updated = record(specimens.patch(path, {"text": "abc"}, if_match=tag_of(created)))

    assert (updated["text"], updated["mirrored"], updated["code"]) == ("abc", "cba", "A")
    assert specimens.record(path) == updated
    stale = specimens.patch(path, {"text": "lost"}, if_match=tag_of(created))
    refusal(stale, "Request_EntityChanged")
    assert [change.verb for change in specimens.changes()] == ["create", "update"]


def test_its_unique_rules_hold(specimens: Company) -> None:
    record(specimens.post("specimensExt", NEW), 201)
    other = record(specimens.post("specimensExt", {**NEW, "series": "2", "rank": 6}), 201)
    before = specimens.listed("specimensExt")

    for body, rule in (({**NEW, "rank": 7}, "code, series"), ({**NEW, "code": "B"}, "rank")):
        answer = specimens.post("specimensExt", body)
        refusal(answer, "Internal_EntityWithSameKeyExists", rule)
    answer = specimens.patch(f"specimensExt({other['id']})", {"series": "1"}, if_match="*")
    refusal(answer, "Internal_EntityWithSameKeyExists", "code, series")

    assert specimens.listed("specimensExt") == before
    assert len(specimens.changes()) == 2


def test_its_numbers_and_its_required_property(specimens: Company) -> None:
    first = record(specimens.post("specimensExt", {"code": "A"}), 201)
    second = record(specimens.post("specimensExt", {"code": "B"}), 201)
    missing = specimens.post("specimensExt", {"series": "1"})

    assert (first["rank"], second["rank"]) == (1, 2)
    refusal(missing, "BadRequest_RequiredParamNotProvided", "code")


def test_it_is_loaded(specimens: Company) -> None:
    specimens.load("specimensExt", NEW)

    [loaded] = specimens.listed("specimensExt")
    assert loaded.items() >= NEW.items()
    assert loaded["mirrored"] == "eßartS"


def test_the_other_entity_types_are_unchanged(specimens: Company) -> None:
    record(specimens.post("shippingAgentsExt", {"code": "DHL"}), 201)

    assert len(specimens.listed("shippingAgentsExt")) == 1
