"""Batches under each profile."""

from collections.abc import Mapping

import msgspec

from comptoir.edm.types import is_guid
from support.batches import HTTP, Entry, Reply, multipart, replies, send_documents, send_multipart
from support.client import Page, Record, record
from support.companies import Company
from support.databases import ON_SQLITE
from support.refusals import error_in
from support.service import Service, StartService
from support.together import together

ABSENT = "shippingAgentsExt(00000000-0000-4000-8000-000000000000)"


def create(code: str, **more: object) -> Entry:
    return {"id": code, "method": "POST", "url": "shippingAgentsExt", "body": {"code": code}} | more


READING_NONE: Entry = {"id": "none", "method": "GET", "url": ABSENT}


def codes(company: Company) -> list[str]:
    return sorted(str(each["code"]) for each in company.listed("shippingAgentsExt"))


def sent(company: Company, *requests: Entry, **headers: str) -> list[Reply]:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return replies(send_documents(company, requests, named))


def test_a_batch_in_json_stops_at_an_error_if_the_profile_says_so(
    profile: str, company: Company
) -> None:
    answered = sent(company, create("A"), READING_NONE, create("B"))

    stops = profile == "business-central"
    assert [each.status for each in answered] == ([201, 404] if stops else [201, 404, 201])
    assert codes(company) == (["A"] if stops else ["A", "B"])


def test_a_batch_in_json_goes_on_if_it_prefers_that(company: Company) -> None:
    for one, two, wish in (
        ("A", "B", "odata.continue-on-error"),
        ("C", "D", "continue-on-error=true"),
    ):
        answered = sent(company, create(one), READING_NONE, create(two), Prefer=wish)
        assert [each.status for each in answered] == [201, 404, 201]
    assert codes(company) == ["A", "B", "C", "D"]


def test_errors_have_the_language_that_their_request_prefers(rehearsed: Company) -> None:
    for isolation in ({}, {"Isolation": "snapshot"}):
        url = "shippingAgentsExt?$filter=code%20in%20('A')"
        reading: Entry = {
            "id": "1",
            "method": "GET",
            "url": url,
            "headers": {"Accept-Language": "nl"},
        }
        headers = {"Accept-Language": "en", **isolation}
        (answered,) = replies(send_documents(rehearsed, [reading], headers))

        assert answered.error.message.startswith("De OData-filterexpressie wordt niet ondersteund.")


def test_a_batch_in_json_has_the_type_of_the_profile(profile: str, company: Company) -> None:
    answer = send_documents(company, [READING_NONE], {})
    level = "; odata.metadata=minimal" if profile == "business-central" else ""
    assert answer.headers["content-type"] == f"application/json{level}"


def test_requests_in_json_may_lack_ids_if_the_profile_says_so(
    profile: str, company: Company
) -> None:
    nameless = [
        {name: value for name, value in create(code).items() if name != "id"} for code in "AB"
    ]
    answer = send_documents(company, [*nameless, create("C")])

    if profile == "standard":
        assert error_in(answer.content).target == "requests[0]"
        assert codes(company) == []
    else:
        listed = msgspec.json.decode(answer.content)["responses"]
        assert [each["id"] for each in listed] == [None, None, "C"]
        assert codes(company) == ["A", "B", "C"]


def change_set(*codes: str) -> str:
    head = "--batch_1\nContent-Type: multipart/mixed; boundary=set_1\n\n"
    request = "POST shippingAgentsExt HTTP/1.1\nContent-Type: application/json\n\n"
    parts = [f'--set_1\n{HTTP}\n{request}{{"code": "{each}"}}\n' for each in codes]
    return f"{head}{''.join(parts)}--set_1--\n--batch_1--\n"


def test_a_change_set_of_one_request_is_allowed(company: Company) -> None:
    (group,) = multipart(company, change_set("A"))
    assert [each.status for each in group.parts] == [201]


def test_a_change_set_of_two_requests_is_refused_if_the_profile_says_so(
    profile: str, company: Company
) -> None:
    answer = send_multipart(company, change_set("A", "B"))

    if profile == "standard":
        assert answer.status_code == 200
        assert codes(company) == ["A", "B"]
    else:
        assert answer.status_code == 500
        assert error_in(answer.content).code == "Unknown"
        assert error_in(answer.content).message.startswith(
            "Multiple requests within the same change set are not supported by Microsoft Dynamics "
            "365 Business Central OData web services.  CorrelationId:"
        )
        assert codes(company) == []


CONTINUE = {"Prefer": "odata.continue-on-error"}
UNSUPPORTED_MERGE = (
    "'MERGE' requests for 'Entity' are not supported by Dynamics 365 Business Central OData web "
    "services.  CorrelationId:"
)


def test_the_method_merge_is_refused_by_itself_if_the_profile_says_so(
    profile: str, company: Company
) -> None:
    merging: Entry = {"id": "M", "method": "MERGE", "url": ABSENT, "body": {"name": "n"}}
    answer = send_documents(company, [create("A"), merging, create("B")], CONTINUE)

    if profile == "standard":
        assert answer.status_code == 400
        assert error_in(answer.content).target == "requests[1]"
        assert codes(company) == []
    else:
        answered = replies(answer)
        assert [each.status for each in answered] == [201, 501, 201]
        assert answered[1].error.code == "BadRequest_MethodNotImplemented"
        assert answered[1].error.message.startswith(UNSUPPORTED_MERGE)
        assert codes(company) == ["A", "B"]


MERGING = f'--batch_1\n{HTTP}\nMERGE {ABSENT} HTTP/1.1\n\n{{"name": "n"}}\n'
MERGING_IN_A_SET = (
    "--batch_1\nContent-Type: multipart/mixed; boundary=set_2\n\n"
    f'--set_2\n{HTTP}\nMERGE {ABSENT} HTTP/1.1\n\n{{"name": "n"}}\n--set_2--\n'
)


def test_the_method_merge_is_refused_by_itself_in_multipart(profile: str, company: Company) -> None:
    for merging in (MERGING, MERGING_IN_A_SET):
        answer = send_multipart(company, merging + change_set("A"), CONTINUE)

        if profile == "standard":
            assert answer.status_code == 400
            assert codes(company) == []
        else:
            assert answer.status_code == 200
            assert b"HTTP/1.1 501" in answer.content
            assert UNSUPPORTED_MERGE.encode() in answer.content
            assert codes(company) == ["A"]


SNAPSHOT = {"Isolation": "snapshot"}
WHOLE: Entry = {"id": "whole", "method": "GET", "url": "shippingAgentsExt?$select=code"}


def snapshot(company: Company, *requests: Entry) -> list[Reply]:
    return replies(send_documents(company, requests, SNAPSHOT))


def test_a_snapshot_is_refused_if_the_profile_says_so(profile: str, company: Company) -> None:
    """Business Central ignores the header of other requests, in a batch too."""
    alone = company.get("shippingAgentsExt", headers=SNAPSHOT)
    batch = send_documents(company, [create("A", headers=SNAPSHOT)], SNAPSHOT)

    expected = 412 if profile == "standard" else 200
    assert (alone.status_code, batch.status_code) == (expected, expected)
    assert codes(company) == ([] if profile == "standard" else ["A"])


def test_a_snapshot_stores_all_of_its_writes(rehearsed: Company) -> None:
    answered = snapshot(rehearsed, create("A"), WHOLE, create("B"), {**WHOLE, "id": "2"})

    assert [each.status for each in answered] == [201, 200, 201, 200]
    assert [each.read(Page).value for each in answered if each.status == 200] == [[], []]
    assert codes(rehearsed) == ["A", "B"]


def test_a_snapshot_undoes_its_writes_and_says_what_they_did(rehearsed: Company) -> None:
    answered = snapshot(rehearsed, create("A"), create("B"), create("A", id="2"), create("C"))

    assert [each.status for each in answered] == [201, 201, 400]
    assert is_guid(str(answered[0].read(Record)["id"]))
    assert answered[2].error.code == "Internal_EntityWithSameKeyExists"
    assert codes(rehearsed) == []


REFUSED: dict[str, Entry] = {
    "a write with an unknown property": create("B", body={"colour": "red"}),
    "a write to an unknown set": create("B", url="nothingExt"),
    "a read of an absent record": READING_NONE,
    "a write to an absent record": {"id": "B", "method": "DELETE", "url": ABSENT},
}


@together("refused", REFUSED.values())
def test_whatever_is_refused_undoes_a_snapshot(refused: Entry, rehearsed: Company) -> None:
    answered = snapshot(rehearsed, create("A"), WHOLE, refused, create("C"))

    assert [each.status for each in answered[:2]] == [201, 200]
    assert len(answered) == 3
    assert answered[2].status >= 400
    assert codes(rehearsed) == []
    assert snapshot(rehearsed, refused, create("A"))[0].status == answered[2].status
    assert codes(rehearsed) == []


def test_a_snapshot_whose_first_request_fails_has_one_response(rehearsed: Company) -> None:
    assert [each.status for each in snapshot(rehearsed, READING_NONE, create("A"))] == [404]


def test_the_tag_of_an_undone_write_is_never_that_of_a_record(rehearsed: Company) -> None:
    """The next change of the record gets the number of the change that was undone."""
    made = record(rehearsed.post("shippingAgentsExt", {"code": "A"}), 201)
    path, any_version = f"shippingAgentsExt({made['id']})", {"If-Match": "*"}
    write = {"id": "1", "method": "PATCH", "url": path, "headers": any_version}
    undone = snapshot(rehearsed, {**write, "body": {"name": "one"}}, READING_NONE)[0]
    record(rehearsed.patch(path, {"name": "two"}, "*"))

    stale = undone.read(Record)["@odata.etag"]
    assert rehearsed.patch(path, {"name": "three"}, str(stale)).status_code == 409
    token = {"Consistency-Token": undone.headers["consistency-token"]}
    assert record(rehearsed.get(path, headers=token))["name"] == "two"


def test_requests_of_a_snapshot_may_refer_to_earlier_ones(rehearsed: Company) -> None:
    change = {"id": "2", "method": "PATCH", "url": "$A", "headers": {"If-Match": "*"}}
    answered = snapshot(rehearsed, create("A"), {**change, "body": {"name": "n"}})

    assert [each.status for each in answered] == [201, 200]
    assert answered[1].read(Record)["name"] == "n"


def test_a_snapshot_in_multipart_keeps_its_change_sets(rehearsed: Company) -> None:
    stored = multipart(rehearsed, change_set("A"), SNAPSHOT)
    assert [[each.status for each in group.parts] for group in stored] == [[201]]

    refused = multipart(rehearsed, change_set("A"), SNAPSHOT)
    assert [each.status for each in refused] == [400]


def test_a_snapshot_needs_the_writes_of_one_company(
    rehearsed: Company, services: Mapping[str, Service]
) -> None:
    other = services["business-central"].new_company()
    root = f"/companies({other.id})/shippingAgentsExt"
    answered = snapshot(rehearsed, create("A"), create("B", url=f"/api{root}"))

    assert [each.status for each in answered] == [201, 400]
    assert (codes(rehearsed), codes(other)) == ([], [])


@ON_SQLITE  # the limit does not depend on the database
def test_the_reads_of_a_snapshot_are_limited(start_service: StartService) -> None:
    service = start_service(profile="business-central", batch_bytes=900)
    company = service.new_company()
    company.load("shippingAgentsExt", *({"code": f"{each}"} for each in range(50)))
    answered = snapshot(company, create("A"), WHOLE)

    assert [each.status for each in answered] == [201, 413]
    assert "A" not in codes(company)


@ON_SQLITE  # faults do not depend on the database
def test_the_requests_of_a_snapshot_meet_faults(start_service: StartService) -> None:
    service = start_service(profile="business-central", faults="on")
    for fault, statuses, stored in (
        ("throttle", [201, 429], []),
        ("timeout; phase=after", [408], ["A", "B"]),
        ("away; kind=json", [503], []),
    ):
        company = service.new_company()
        second = create("B", headers={"Comptoir-Fault": fault})
        answered = snapshot(company, create("A"), second, WHOLE)

        assert [each.status for each in answered] == statuses, fault
        assert codes(company) == stored, fault
