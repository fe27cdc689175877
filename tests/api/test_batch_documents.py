"""Batches in JSON: each request is processed as if it was sent alone."""

from comptoir.auth.tokens import Scope
from support.batches import documents, parts, replies, send_documents
from support.client import Record, record, tag_of
from support.companies import Company
from support.refusals import refusal
from support.samples import CONTACT, PATHS, SHIPPING_AGENT
from support.service import Service
from support.together import together

AGENT = f"shippingAgentsExt({SHIPPING_AGENT})"
PLAIN = {"OData-MaxVersion": "4.0"}


@together("path", PATHS.values())
def test_a_read_in_a_batch_has_the_same_response_as_alone(path: str, stocked: Company) -> None:
    """Also at a key of operation 9, whose responses depend on the client."""
    alone = stocked.get(path)

    reply = documents(stocked, {"id": "1", "method": "GET", "url": path})["1"]

    assert (reply.status, bytes(reply.body)) == (200, alone.content)
    for name in ("content-type", "odata-version", "etag"):
        assert reply.headers.get(name) == alone.headers.get(name)


def test_many_writes_are_processed_in_their_order(company: Company) -> None:
    """Independent writes share commits, and their order remains."""
    answers = documents(
        company,
        *(
            {
                "id": str(number),
                "method": "POST",
                "url": "shippingAgentsExt",
                "body": {"code": f"{number % 40:02d}"},
            }
            for number in range(60)
        ),
    )

    statuses = [answers[str(number)].status for number in range(60)]
    assert statuses == [201] * 40 + [409] * 20
    changes = company.changes()
    keys = [str(answers[str(number)].read(Record)["id"]) for number in range(40)]
    assert [change.record for change in changes] == keys


def test_the_response_may_have_the_other_format(stocked: Company) -> None:
    answer = send_documents(
        stocked,
        [
            {"id": "x", "method": "GET", "url": AGENT},
            {"id": "y", "method": "GET", "url": "nothingExt"},
        ],
        {"Accept": "multipart/mixed"},
    )

    listed = parts(answer)
    assert [(part.content_id, part.status) for part in listed] == [("x", 200), ("y", 404)]
    assert listed[0].body == stocked.get(AGENT).content


@together(
    ("accept", "media"),
    [
        ("*/*", "application/json"),
        ("application/*", "application/json"),
        ("application/xml, application/json;q=0.5", "application/json"),
        ("application/json;q=0, multipart/mixed", "multipart/mixed"),
        ("multipart/*", "multipart/mixed"),
    ],
)
def test_accept_chooses_the_format(accept: str, media: str, company: Company) -> None:
    answer = send_documents(company, [], {"Accept": accept})

    assert answer.headers["content-type"].partition(";")[0] == media


def test_format_chooses_before_accept(company: Company) -> None:
    answer = company.request(
        "POST", "$batch", "$format=json", {"requests": []}, {"Accept": "multipart/mixed"}
    )

    assert replies(answer) == []


def test_a_part_inherits_the_token_and_the_version(stocked: Company) -> None:
    """A client that names the protocol gets plain OData, even for parts without a version."""
    query = "salesPricesExt?$filter=assetNumber eq '1896-S'"
    alone, plain = stocked.get(query), stocked.get(query, headers=PLAIN)
    assert alone.content != plain.content

    by_hand = documents(stocked, {"id": "1", "method": "GET", "url": query})["1"]
    inherited = documents(stocked, {"id": "1", "method": "GET", "url": query}, headers=PLAIN)["1"]
    own = documents(stocked, {"id": "1", "method": "GET", "url": query, "headers": PLAIN})["1"]

    assert bytes(by_hand.body) == alone.content
    assert bytes(inherited.body) == bytes(own.body) == plain.content


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


@together(
    "wish",
    [
        "return=representation",
        "return=minimal",
        'return=minimal, track-changes, maxpagesize=1, handling=strict, x="',
    ],
)
def test_a_preference_for_single_requests_is_ignored_on_a_batch(
    wish: str, company: Company
) -> None:
    """It is not applied to a batch (OData Protocol 4.01, 8.2.8.7), nor refused (RFC 7240, 2)."""
    create = {"id": "1", "method": "POST", "url": "contactsExt", "body": {"displayName": "x"}}
    listed = {"id": "2", "method": "GET", "url": "contactsExt", "dependsOn": ["1"]}

    answer = send_documents(company, [create, listed], {"Prefer": wish})

    assert "preference-applied" not in answer.headers
    for reply, status in zip(replies(answer), (201, 200), strict=True):
        assert reply.status == status
        assert "preference-applied" not in reply.headers


def test_a_conditional_read_has_no_body(stocked: Company) -> None:
    tag = tag_of(stocked.get(AGENT))

    reply = documents(
        stocked, {"id": "1", "method": "GET", "url": AGENT, "headers": {"If-None-Match": tag}}
    )["1"]

    assert (reply.status, bytes(reply.body), reply.headers["etag"]) == (304, b"", tag)


def test_a_response_names_the_version_and_the_request(company: Company) -> None:
    answer = send_documents(company, [])

    assert answer.headers["odata-version"] == "4.0"
    assert answer.headers["x-request-id"]
    assert answer.headers["content-length"] == str(len(answer.content))


def test_large_pages_are_complete(company: Company) -> None:
    """Two pages that are each larger than one piece of the response."""
    company.load(
        "contactsExt",
        *({"number": f"K{number:04d}", "displayName": "x" * 50} for number in range(300)),
    )
    read = {"method": "GET", "url": "contactsExt"}

    answers = documents(company, {"id": "1", **read}, {"id": "2", **read})

    expected = company.get("contactsExt").content
    assert len(expected) > 200_000
    assert [bytes(reply.body) for reply in answers.values()] == [expected, expected]


def test_a_batch_of_an_unknown_company_is_404(service: Service) -> None:
    path = f"companies({CONTACT})/$batch"

    answer = service.client.post(path, {"requests": []})

    refusal(answer, "Internal_CompanyNotFound")
    refusal(service.client.get(path), "Internal_CompanyNotFound")


def test_a_batch_needs_a_token(company: Company) -> None:
    refusal(company.using("").post("$batch", b"{"), "Authentication_InvalidCredentials")


@together("path", ["contactsExt/$batch", f"contactsExt({CONTACT})/$batch"])
def test_batches_are_sent_to_a_service_root(path: str, stocked: Company) -> None:
    answer = stocked.post(path, {"requests": []})

    assert answer.status_code in (404, 501)


def test_a_write_in_a_batch_is_in_the_change_log(company: Company) -> None:
    answers = documents(
        company, {"id": "1", "method": "POST", "url": "contactsExt", "body": {"displayName": "x"}}
    )

    (change,) = company.changes()
    assert change.record == answers["1"].read(Record)["id"]


def test_the_same_batch_can_be_sent_to_either_root(service: Service, stocked: Company) -> None:
    at_base = documents(
        service.client, {"id": "1", "method": "GET", "url": f"companies({stocked.id})/{AGENT}"}
    )
    at_company = documents(stocked, {"id": "1", "method": "GET", "url": AGENT})

    assert bytes(at_base["1"].body) == bytes(at_company["1"].body)
    assert record(stocked.get(AGENT))["code"] == at_base["1"].read(Record)["code"]


@together("coding", ["gzip", "zstd", "identity"])
def test_the_response_to_a_batch_may_be_compressed(coding: str, company: Company) -> None:
    company.load("contactsExt", *({"number": f"K{each}", "displayName": "x"} for each in range(99)))
    entries = [{"id": f"{each}", "method": "GET", "url": "contactsExt"} for each in range(5)]

    answer = send_documents(company, entries, {"Accept-Encoding": coding})

    assert answer.headers.get("content-encoding", "identity") == coding
    if coding != "zstd":
        assert len(replies(answer)) == 5
