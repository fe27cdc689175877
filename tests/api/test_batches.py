"""Batches: each request is processed as if it was sent alone; the corpus has their forms."""

from comptoir.auth.tokens import Scope
from support.batches import HTTP, documents, multipart, replies, send_documents, send_multipart
from support.client import Record
from support.companies import Company
from support.refusals import refusal
from support.repeats import repeatable
from support.samples import PATHS, SHIPPING_AGENT
from support.service import Service
from support.together import together

AGENT = f"shippingAgentsExt({SHIPPING_AGENT})"


@together("path", PATHS.values())
def test_a_read_in_a_batch_has_the_same_response_as_alone(path: str, stocked: Company) -> None:
    """In both formats; also at a key of operation 9, whose responses depend on the client."""
    alone = stocked.get(path)
    text = f"--batch_1\n{HTTP}\nGET {path} HTTP/1.1\n\n\n--batch_1--\n"

    reply = documents(stocked, {"id": "1", "method": "GET", "url": path})["1"]
    (part,) = multipart(stocked, text)

    assert (reply.status, part.status) == (200, 200)
    assert bytes(reply.body) == part.body == alone.content
    for name in ("content-type", "odata-version", "etag"):
        assert reply.headers.get(name) == part.headers.get(name) == alone.headers.get(name)


def test_many_writes_are_processed_in_their_order(company: Company) -> None:
    """Independent writes share commits, and their order remains."""
    create = {"method": "POST", "url": "shippingAgentsExt"}
    bodies = [{"code": f"{number % 40:02d}"} for number in range(60)]
    entries = [{"id": f"{number}", **create, "body": each} for number, each in enumerate(bodies)]
    answers = documents(company, *entries)

    statuses = [answers[str(number)].status for number in range(60)]
    assert statuses == [201] * 40 + [409] * 20
    changes = company.changes()
    keys = [str(answers[str(number)].read(Record)["id"]) for number in range(40)]
    assert [change.record for change in changes] == keys


def test_a_batch_may_do_what_its_token_allows(service: Service, stocked: Company) -> None:
    reader = stocked.using(service.tokens.issue(scopes=[Scope.RECORDS_READ]))
    elsewhere = service.new_company()
    narrow = service.client.using(service.tokens.issue(companies=[elsewhere.id]))

    answers = documents(
        reader,
        {"id": "1", "method": "GET", "url": AGENT},
        {"id": "2", "method": "POST", "url": "contactsExt", "body": {"displayName": "x"}},
    )
    outside = documents(
        narrow,
        {"id": "1", "method": "GET", "url": f"companies({stocked.id})/{AGENT}"},
        {"id": "2", "method": "GET", "url": f"companies({elsewhere.id})/contactsExt"},
    )

    assert answers["1"].status == 200
    assert answers["2"].error.code == "Authorization_RequestDenied"
    assert outside["1"].error.code == "Internal_CompanyNotFound"
    assert outside["2"].status == 200


@together("coding", ["gzip", "zstd", "identity"])
def test_the_response_to_a_batch_may_be_compressed(coding: str, company: Company) -> None:
    company.load("contactsExt", *({"number": f"K{each}", "displayName": "x"} for each in range(99)))
    entries = [{"id": f"{each}", "method": "GET", "url": "contactsExt"} for each in range(5)]

    answer = send_documents(company, entries, {"Accept-Encoding": coding})

    assert answer.headers.get("content-encoding", "identity") == coding
    if coding != "zstd":
        assert len(replies(answer)) == 5


def test_the_token_of_the_batch_may_be_repeated(company: Company) -> None:
    """Some clients add it to every request."""
    token = {"authorization": f"Bearer {company.token}"}
    count = {"id": "1", "method": "GET", "url": "contactsExt/$count", "headers": token}

    assert documents(company, count)["1"].status == 200


def test_bytes_that_are_not_text_are_refused(company: Company) -> None:
    body = f"--batch_1\r\n{HTTP}\r\nGET x?\xff HTTP/1.1\r\n\r\n--batch_1--".encode("latin-1")

    refusal(send_multipart(company, body), "BadRequest", "part 1")


@together(
    ("headers", "body", "code"),
    [
        ({"If-Match": "*"}, b"x" * (9 << 20), "BadRequest"),
        ({}, b"{" * (9 << 20), "Request_BodyTooLarge"),
    ],
)
def test_the_size_is_checked_after_the_headers_and_before_the_body(
    headers: dict[str, str], body: bytes, code: str, company: Company
) -> None:
    refusal(company.request("POST", "$batch", body=body, headers=headers), code)


def test_the_longest_id_is_long_enough_for_a_hundred_writes(company: Company) -> None:
    entries = [
        {"id": code, "method": "POST", "url": "shippingAgentsExt", "body": {"code": code}}
        for code in map(str, range(100))
    ]

    answer = send_documents(company, entries, repeatable("x" * 252))

    assert {reply.status for reply in replies(answer)} == {201}
