"""Repeated batches are processed once (OASIS Repeatable Requests 1.0)."""

from support.batches import (
    HTTP,
    Entry,
    documents,
    multipart,
    replies,
    send_documents,
    send_multipart,
)
from support.client import Record
from support.companies import Company
from support.refusals import refusal
from support.repeats import repeatable, result
from support.together import together


def create(code: str, **more: object) -> Entry:
    return {
        "id": code,
        "method": "POST",
        "url": "shippingAgentsExt",
        "body": {"code": code},
        **more,
    }


BATCH = [
    create("A"),
    {
        "id": "2",
        "method": "PATCH",
        "url": "$A",
        "headers": {"If-Match": "$A"},
        "body": {"name": "n"},
    },
    create("B", atomicityGroup="g"),
    {
        "id": "4",
        "atomicityGroup": "g",
        "method": "PATCH",
        "url": "$B",
        "headers": {"If-Match": "*"},
        "body": {"name": "m"},
    },
    {"id": "5", "method": "GET", "url": "shippingAgentsExt/$count"},
]


def test_the_writes_of_a_batch_are_processed_once(company: Company) -> None:
    headers = repeatable()

    first, again = (send_documents(company, BATCH, headers) for _ in range(2))

    assert [reply.status for reply in replies(first)] == [201, 200, 201, 200, 200]
    assert replies(again) == replies(first)
    assert result(first) == result(again) == "accepted"
    assert len(company.changes()) == 4


def test_change_sets_are_processed_once(company: Company) -> None:
    text = (
        "--batch_1\nContent-Type: multipart/mixed;boundary=cs\n\n"
        f"--cs\n{HTTP}\nPOST shippingAgentsExt HTTP/1.1\nContent-Type: application/json\n\n"
        '{"code": "A"}\n--cs--\n--batch_1--'
    )
    headers = repeatable()

    (first,), (again,) = (multipart(company, text, headers) for _ in range(2))

    assert first.parts[0].status == 201
    assert again.parts == first.parts
    assert len(company.changes()) == 1


def test_batches_with_different_ids_are_different_batches(company: Company) -> None:
    for _ in range(2):
        assert send_documents(company, [create("A")], repeatable()).status_code == 200

    (again,) = replies(send_documents(company, [create("A")], repeatable()))
    assert again.error.code == "Internal_EntityWithSameKeyExists"


def test_a_request_may_have_its_own_id(company: Company) -> None:
    own = create("A", headers=repeatable())

    first = documents(company, own, headers=repeatable())["A"]
    again = documents(company, own, headers=repeatable())["A"]
    alone = company.post("shippingAgentsExt", {"code": "A"}, dict(_headers_of(own)))

    assert first.read(Record) == again.read(Record) == alone.json()
    assert len(company.changes()) == 1


def _headers_of(entry: Entry) -> dict[str, str]:
    headers = entry["headers"]
    assert isinstance(headers, dict)
    return headers


@together(
    "headers",
    [
        {"Repeatability-Request-ID": "x"},
        {"Repeatability-First-Sent": "Tue, 26 Mar 2019 16:06:51 GMT"},
        repeatable("x" * 253),
        {**repeatable(), "Repeatability-First-Sent": "yesterday"},
    ],
)
def test_malformed_headers_are_refused_with_the_whole_batch(
    headers: dict[str, str], company: Company
) -> None:
    for answer in (
        send_documents(company, [create("A")], headers),
        send_multipart(company, "--batch_1--", headers),
    ):
        refusal(answer, "BadRequest")
        assert result(answer) == "rejected"
    assert company.changes() == []


def test_the_longest_id_is_long_enough_for_a_hundred_writes(company: Company) -> None:
    entries = [create(f"{number:03d}") for number in range(100)]

    answer = send_documents(company, entries, repeatable("x" * 252))

    assert {reply.status for reply in replies(answer)} == {201}
