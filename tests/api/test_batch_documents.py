"""Batches in JSON: each request is processed as if it was sent alone."""

import pytest

from comptoir.auth.tokens import Scope
from support.batches import Entry, documents, parts, replies, send_documents
from support.client import Page, Record, record, tag_of
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


def test_each_method_has_the_same_response_as_alone(company: Company) -> None:
    answers = documents(
        company,
        {"id": "a", "method": "post", "url": "shippingAgentsExt", "body": {"code": "A"}},
        {
            "id": "b",
            "method": "Patch",
            "url": "$a",
            "dependsOn": ["a"],
            "headers": {"IF-MATCH": "*", "content-TYPE": "application/json"},
            "body": {"name": "n"},
        },
        {"id": "c", "method": "GET", "url": "shippingAgentsExt?$count=true", "dependsOn": ["b"]},
        {"id": "d", "method": "GET", "url": "nothingExt"},
        {
            "id": "e",
            "method": "DELETE",
            "url": "$a",
            "dependsOn": ["c"],
            "headers": {"if-match": "*"},
        },
    )

    assert {name: reply.status for name, reply in answers.items()} == {
        "a": 201,
        "b": 200,
        "c": 200,
        "d": 404,
        "e": 204,
    }
    assert answers["a"].headers["location"].startswith(f"{company.root}/shippingAgentsExt(")
    assert answers["b"].read(Record)["name"] == "n"
    assert answers["c"].read(Page).count == 1
    assert answers["d"].error.code == "BadRequest_ResourceNotFound"
    assert not bytes(answers["e"].body)
    assert company.listed("shippingAgentsExt") == []


def test_a_text_response_is_a_string(stocked: Company) -> None:
    reply = documents(stocked, {"id": "1", "method": "GET", "url": "contactsExt/$count"})["1"]

    assert reply.headers["content-type"].startswith("text/plain")
    assert reply.read(str) == "1"


def test_an_empty_batch_has_no_responses(company: Company) -> None:
    assert replies(send_documents(company, [])) == []


def test_a_body_is_passed_on_unchanged(company: Company) -> None:
    """Numbers are exact, so they are not parsed as binary floating-point numbers."""
    body = (
        b'{"requests": [{"id": "1", "method": "POST", "url": "contactsExt", "headers": {},'
        b' "body": {"displayName": "\\u00e9 \xc3\xa9", "lastInteractionDate": 1.00000000000000001}'
        b"}]}"
    )

    (reply,) = replies(company.post("$batch", body))

    assert reply.error.target == "lastInteractionDate"


def test_a_body_may_be_encoded(company: Company) -> None:
    """Bodies that are not JSON are base64url (RFC 4648) or text."""
    media = {"content-type": "application/octet-stream"}
    answers = documents(
        company,
        {"id": "1", "method": "POST", "url": "contactsExt", "headers": media, "body": "e30_"},
        {
            "id": "2",
            "method": "POST",
            "url": "contactsExt",
            "headers": {"content-type": "text/plain"},
            "body": "{}",
        },
    )

    assert {reply.error.code for reply in answers.values()} == {"Request_UnsupportedMediaType"}


def test_annotations_of_a_batch_are_ignored(company: Company) -> None:
    """OData JSON Format 4.01, 19.1."""
    answer = company.post("$batch", {"@odata.context": "x", "requests": []})

    assert replies(answer) == []


def test_a_refused_request_does_not_stop_the_others(stocked: Company) -> None:
    """OData JSON Format 4.01, 19.4: unless `continue-on-error=false` asks for it."""
    answers = documents(
        stocked,
        {"id": "1", "method": "GET", "url": "nothingExt"},
        {"id": "2", "method": "GET", "url": AGENT},
    )

    assert [answers["1"].status, answers["2"].status] == [404, 200]


@pytest.mark.parametrize("prefix", ["", "odata."])
def test_a_batch_stops_at_an_error_on_request(prefix: str, company: Company) -> None:
    """The later requests are not processed, and have responses that say so."""
    wish = f"{prefix}continue-on-error=false"
    new = {"method": "POST", "url": "contactsExt", "body": {"displayName": "x"}}
    answer = send_documents(
        company,
        [
            {"id": "1", **new},
            {"id": "2", "method": "GET", "url": "nothingExt"},
            {"id": "3", **new},
            {"id": "4", "atomicityGroup": "g", **new},
            {"id": "5", "atomicityGroup": "g", **new},
        ],
        {"Prefer": wish},
    )

    assert answer.headers["preference-applied"] == wish
    assert [reply.status for reply in replies(answer)] == [201, 404, 424, 424, 424]
    assert len(company.listed("contactsExt")) == 1


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


def test_a_part_may_declare_json_with_an_unknown_parameter(own_stock: Company) -> None:
    def named(number: str, media: str) -> Entry:
        headers = {"content-type": media, "if-match": "*"}
        body = {"name": f"n{number}"}
        return {"id": number, "method": "PATCH", "url": AGENT, "headers": headers, "body": body}

    answers = documents(
        own_stock,
        named("1", "application/json;odata=verbose"),
        named("2", "application/json;odata=verbose;charset=latin-1"),
        headers={"Content-Type": "application/json;odata=verbose"},
    )

    assert answers["1"].read(Record)["name"] == "n1"
    assert answers["2"].error.code == "Request_UnsupportedMediaType"


def test_preferences_of_a_part_are_its_own(company: Company) -> None:
    new = {"method": "POST", "url": "contactsExt", "body": {"displayName": "x"}}
    answers = documents(
        company,
        {"id": "1", **new, "headers": {"prefer": "return=minimal"}},
        {"id": "2", **new},
        {
            "id": "3",
            "method": "GET",
            "url": "contactsExt",
            "dependsOn": ["1", "2"],
            "headers": {"Prefer": "odata.maxpagesize=1"},
        },
    )

    assert [answers["1"].status, answers["2"].status] == [204, 201]
    page = answers["3"].read(Page)
    assert len(page.value) == 1
    assert page.next_link is not None
    assert page.next_link.startswith(f"{company.root}/contactsExt?")


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


def test_a_part_has_its_own_preference(company: Company) -> None:
    part = {
        "id": "1",
        "method": "POST",
        "url": "contactsExt",
        "headers": {"prefer": "return=minimal"},
        "body": {"displayName": "x"},
    }
    wish = {"Prefer": "return=representation, continue-on-error=false"}

    answer = send_documents(company, [part], wish)

    assert answer.headers["preference-applied"] == "continue-on-error=false"
    [reply] = replies(answer)
    assert (reply.status, reply.headers["preference-applied"]) == (204, "return=minimal")


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


def test_null_members_are_the_same_as_omitted_ones(stocked: Company) -> None:
    """The serializers of some clients write all members."""
    nothing = dict.fromkeys(("atomicityGroup", "dependsOn", "if", "headers", "body"))

    reply = documents(stocked, {"id": "1", "method": "GET", "url": AGENT, **nothing})["1"]

    assert reply.status == 200


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


@together("path", ["$batch", "%24batch"])
def test_the_path_may_be_percent_encoded(path: str, company: Company) -> None:
    assert replies(company.post(path, {"requests": []})) == []


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


def test_an_unknown_version_of_a_part_is_refused(stocked: Company) -> None:
    headers = {"OData-Version": "3.0"}
    read = {"id": "1", "method": "GET", "url": AGENT, "headers": headers}

    assert documents(stocked, read)["1"].error.target == "OData-Version"


def test_a_compressed_body_of_a_part_is_refused(company: Company) -> None:
    create = {
        "id": "1",
        "method": "POST",
        "url": "shippingAgentsExt",
        "headers": {"Content-Encoding": "gzip"},
        "body": {"code": "A"},
    }

    assert documents(company, create)["1"].error.code == "Request_UnsupportedMediaType"


@together("coding", ["gzip", "zstd", "identity"])
def test_the_response_to_a_batch_may_be_compressed(coding: str, company: Company) -> None:
    company.load("contactsExt", *({"number": f"K{each}", "displayName": "x"} for each in range(99)))
    entries = [{"id": f"{each}", "method": "GET", "url": "contactsExt"} for each in range(5)]

    answer = send_documents(company, entries, {"Accept-Encoding": coding})

    assert answer.headers.get("content-encoding", "identity") == coding
    if coding != "zstd":
        assert len(replies(answer)) == 5
