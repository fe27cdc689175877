"""Batches that are refused as a whole, with a message that names the part."""

from collections.abc import Mapping

import httpx

from comptoir.errors.table import ERROR_TABLE
from support.batches import HTTP, MULTIPART, Entry, send_documents, send_multipart
from support.client import Client
from support.companies import Company
from support.databases import ON_SQLITE
from support.refusals import refusal
from support.together import together

pytestmark = ON_SQLITE  # nothing of this is up to the database

CREATE: Entry = {
    "id": "1",
    "method": "POST",
    "url": "shippingAgentsExt",
    "body": {"code": "A"},
}
COUNT: Entry = {"id": "2", "method": "GET", "url": "shippingAgentsExt/$count"}
POST = (
    f"--batch_1\n{HTTP}\nPOST shippingAgentsExt HTTP/1.1\nContent-Type: application/json\n\n"
    '{"code": "A"}\n'
)
STATUSES = {kind.code: kind.status for kind in ERROR_TABLE}

DOCUMENTS: Mapping[str, bytes] = {
    "nothing": b"",
    "no JSON": b"{",
    "no UTF-8": b'{"requests": "\xff"}',
    "an array": b"[]",
    "null": b"null",
    "no requests": b"{}",
    "requests that are an object": b'{"requests": {}}',
    "requests that are null": b'{"requests": null}',
    "a request that is text": b'{"requests": ["x"]}',
    "a member that nobody knows": b'{"requests": [], "continueOnError": true}',
    "depth": b'{"requests": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
}


@together("what", DOCUMENTS)
def test_a_body_that_is_not_a_batch_is_refused(what: str, company: Company) -> None:
    refusal(company.post("$batch", DOCUMENTS[what]), "BadRequest")


ENTRIES: Mapping[str, Entry] = {
    "no id": {"method": "GET", "url": "x"},
    "an id that is a number": {**COUNT, "id": 1},
    "an empty id": {**COUNT, "id": ""},
    "an id of two lines": {**COUNT, "id": "a\r\nSet-Cookie: x"},
    "an id beyond ASCII": {**COUNT, "id": "é"},
    "a long id": {**COUNT, "id": "x" * 201},
    "a taken id": {**COUNT, "id": "1"},
    "no method": {"id": "2", "url": "x"},
    "a method of nobody": {**COUNT, "method": "MERGE"},
    "a probe": {**COUNT, "method": "HEAD"},
    "no URL": {"id": "2", "method": "GET"},
    "a URL that is null": {**COUNT, "url": None},
    "a URL with a fragment": {**COUNT, "url": "contactsExt?$filter=number eq '#1'"},
    "a URL of another host": {**COUNT, "url": "http://elsewhere.example/api/contactsExt"},
    "a URL of our host beside the interface": {**COUNT, "url": "http://127.0.0.1:8080/healthz"},
    "a URL with a host alone": {**COUNT, "url": "//127.0.0.1:8080/api/contactsExt"},
    "a batch": {**COUNT, "method": "POST", "url": "$batch", "body": {"requests": []}},
    "an encoded batch": {**COUNT, "method": "POST", "url": "/api/%24batch"},
    "a batch behind a reference": {**COUNT, "method": "POST", "url": "$1/$batch"},
    "headers that are a list": {**COUNT, "headers": []},
    "a header that is a number": {**COUNT, "headers": {"x": 1}},
    "a header of two lines": {**COUNT, "headers": {"accept": "a\nb"}},
    "a header with a line behind it": {**COUNT, "headers": {"accept": "*/*\n"}},
    "a header with a letter beyond ASCII": {**COUNT, "headers": {"coo\u212aie": "a"}},
    "a header with a blank in its name": {**COUNT, "headers": {"if match": "*"}},
    "a header given twice": {**COUNT, "headers": {"Accept": "*/*", "accept": "*/*"}},
    "a body of a read": {**COUNT, "body": {}},
    "a body that is no text": {
        **CREATE,
        "id": "2",
        "headers": {"content-type": "text/plain"},
        "body": {},
    },
    "a body that is no base64url": {
        **CREATE,
        "id": "2",
        "headers": {"content-type": "image/png"},
        "body": "é",
    },
    "dependencies that are text": {**COUNT, "dependsOn": "1"},
    "dependencies that are numbers": {**COUNT, "dependsOn": [1]},
    "a group with the id of a request": {**CREATE, "id": "2", "atomicityGroup": "1"},
    "a group with its own id": {**CREATE, "id": "2", "atomicityGroup": "2"},
    "a group without a name": {**CREATE, "id": "2", "atomicityGroup": ""},
    "a member that nobody knows": {**COUNT, "dependson": ["1"]},
    "a token of its own": {**COUNT, "headers": {"Authorization": "Bearer x"}},
}


@together("what", ENTRIES)
def test_a_malformed_request_is_refused_by_its_place(what: str, company: Company) -> None:
    answer = send_documents(company, [CREATE, ENTRIES[what]])

    error = refusal(answer, "BadRequest")
    assert str(error.target).startswith("requests")
    assert company.listed("shippingAgentsExt") == []


DELETION = '{"id": "1", "method": "DELETE", "url": "shippingAgentsExt(code=\'A\')"'
DUPLICATES: Mapping[str, tuple[str, str, str]] = {
    "url": (DELETION + ', "url": "shippingAgentsExt(code=\'B\')"}', "requests[0]", "url"),
    "an escaped url": (DELETION + ', "\\u0075rl": "unitsOfMeasureExt"}', "requests[0]", "url"),
    "annotations with colons": (
        DELETION + ', "@\\u003a": 1, "body": {"x": ":"}, "body": null}',
        "requests[0]",
        "body",
    ),
    "a header": (
        DELETION + ', "headers": {"If-Match": "W/\\"1:1\\"", "If-Match": "*"}}',
        "requests[0].headers",
        "If-Match",
    ),
    "requests": ('], "requests": [' + DELETION + "}", "The body", "requests"),
}


@together("what", DUPLICATES)
def test_a_duplicate_member_is_refused_by_its_name(what: str, company: Company) -> None:
    """JSON parsers differ in which one they use."""
    company.load("shippingAgentsExt", {"code": "A"}, {"code": "B"})
    entry, place, name = DUPLICATES[what]

    answer = company.post("$batch", f'{{"requests": [{entry}]}}'.encode())

    error = refusal(answer, "BadRequest", place)
    assert error.message.startswith(f"'{name}' is given twice")
    assert len(company.listed("shippingAgentsExt")) == 2


def test_a_colon_in_a_name_is_not_a_member(company: Company) -> None:
    entry = '{"id": "1", "method": "GET", "url": "companies", "@a:b": {"c": ":"}}'

    answer = company.post("$batch", f'{{"requests": [{entry}]}}'.encode())

    assert answer.json()["responses"][0]["status"] == 404


def test_requests_of_a_group_must_be_adjacent(company: Company) -> None:
    answer = send_documents(
        company,
        [
            {**CREATE, "atomicityGroup": "g"},
            COUNT,
            {**CREATE, "id": "3", "atomicityGroup": "g"},
        ],
    )

    refusal(answer, "BadRequest", "requests[2]")
    assert company.listed("shippingAgentsExt") == []


def test_the_token_of_the_batch_may_be_repeated(company: Company) -> None:
    """Some clients add it to every request."""
    same = {**COUNT, "headers": {"authorization": f"Bearer {company.token}"}}

    assert send_documents(company, [same]).json()["responses"][0]["status"] == 200


MULTIPARTS: Mapping[str, tuple[str, str]] = {
    "nothing": ("", "The body"),
    "no boundary": ("GET contactsExt HTTP/1.1\n\n", "The body"),
    "another boundary": (POST.replace("batch_1", "batch_12"), "The body"),
    "no end": (POST, "The body"),
    "an end in the middle of a line": (f"{POST}x--batch_1--", "The body"),
    "an end with more behind it": (f"{POST}--batch_1--x", "The body"),
    "a part of nothing": (f"{POST}--batch_1\n--batch_1--", "part 2"),
    "a part without a type": (f"{POST}--batch_1\n\nGET x HTTP/1.1\n\n--batch_1--", "part 2"),
    "a part that is a page": (
        f"{POST}--batch_1\nContent-Type: text/html\n\nx\n--batch_1--",
        "part 2",
    ),
    "a part without a request": (f"{POST}--batch_1\n{HTTP}\n\n--batch_1--", "part 2"),
    "a method alone": (f"{POST}--batch_1\n{HTTP}\nGET\n\n--batch_1--", "part 2"),
    "a method of nobody": (f"{POST}--batch_1\n{HTTP}\nMERGE x HTTP/1.1\n\n--batch_1--", "part 2"),
    "a header without a colon": (
        f"{POST}--batch_1\n{HTTP}\nGET x HTTP/1.1\nAccept\n\n--batch_1--",
        "part 2",
    ),
    "a header without a name": (
        f"{POST}--batch_1\n{HTTP}\nGET x HTTP/1.1\n: x\n\n--batch_1--",
        "part 2",
    ),
    "a header of the part without a colon": (
        f"{POST}--batch_1\nContent-Type\n\nGET x HTTP/1.1\n\n--batch_1--",
        "part 2",
    ),
    "a NUL in a header": (
        f"{POST}--batch_1\n{HTTP}\nGET x HTTP/1.1\nAccept: \0\n\n--batch_1--",
        "part 2",
    ),
    "a body of a read": (f"{POST}--batch_1\n{HTTP}\nGET x HTTP/1.1\n\nx\n--batch_1--", "part 2"),
    "a body that is longer than told": (
        f"--batch_1\n{HTTP}\nPOST x HTTP/1.1\nContent-Length: 1\n\n{{}}\n--batch_1--",
        "part 1",
    ),
    "a body that is shorter than told": (
        f"--batch_1\n{HTTP}\nPOST x HTTP/1.1\nContent-Length: 9\n\n{{}}\n--batch_1--",
        "part 1",
    ),
    "a length that is none": (
        f"--batch_1\n{HTTP}\nPOST x HTTP/1.1\nContent-Length: -1\n\n{{}}\n--batch_1--",
        "part 1",
    ),
    "a taken id": (
        POST.replace(HTTP, f"{HTTP}Content-ID: 7\n")
        + f"--batch_1\n{HTTP}Content-ID: 7\n\nGET x HTTP/1.1\n\n--batch_1--",
        "part 2",
    ),
    "an unknown reference": (f"{POST}--batch_1\n{HTTP}\nGET $7 HTTP/1.1\n\n--batch_1--", "part 2"),
    "a batch": (f"{POST}--batch_1\n{HTTP}\nPOST $batch HTTP/1.1\n\n--batch_1--", "part 2"),
    "another host": (
        f"{POST}--batch_1\n{HTTP}\nGET https://elsewhere.example/api/x HTTP/1.1\n\n--batch_1--",
        "part 2",
    ),
    "a token of its own": (
        f"{POST}--batch_1\n{HTTP}\nGET x HTTP/1.1\nauthorization: Bearer x\n\n--batch_1--",
        "part 2",
    ),
    "a change set without a boundary": (
        f"{POST}--batch_1\nContent-Type: multipart/mixed\n\n--cs--\n--batch_1--",
        "part 2",
    ),
    "a change set without an end": (
        f"{POST}--batch_1\nContent-Type: multipart/mixed;boundary=cs\n\n--cs\n\n--batch_1--",
        "part 2",
    ),
    "a change set of another kind": (
        f"{POST}--batch_1\nContent-Type: multipart/related;boundary=cs\n\n--cs--\n--batch_1--",
        "part 2",
    ),
}


@together("what", MULTIPARTS)
def test_a_multipart_that_is_malformed_is_refused_by_its_place(what: str, company: Company) -> None:
    text, place = MULTIPARTS[what]

    refusal(send_multipart(company, text), "BadRequest", place)
    assert company.listed("shippingAgentsExt") == []


NOT_SUPPORTED = {
    "an encoded part": "Content-Type: application/http\nContent-Transfer-Encoding: base64\n\nR0VU",
    "a chunked request": f"{HTTP}\nPOST x HTTP/1.1\nTransfer-Encoding: chunked\n\n0\n",
}


@together("what", NOT_SUPPORTED)
def test_an_unsupported_feature_is_refused_by_name(what: str, company: Company) -> None:
    text = f"{POST}--batch_1\n{NOT_SUPPORTED[what]}\n--batch_1--"

    error = refusal(send_multipart(company, text), "BadRequest_MethodNotImplemented", "part 2")

    assert "Encoding" in error.message
    assert company.listed("shippingAgentsExt") == []


def test_bytes_that_are_not_text_are_refused(company: Company) -> None:
    body = f"--batch_1\r\n{HTTP}\r\nGET x?\xff HTTP/1.1\r\n\r\n--batch_1--".encode("latin-1")

    refusal(send_multipart(company, body), "BadRequest", "part 1")


@together(
    ("content_type", "code"),
    [
        ("", "Request_UnsupportedMediaType"),
        ("text/plain", "Request_UnsupportedMediaType"),
        ("application/xml", "Request_UnsupportedMediaType"),
        ("application/json; charset=latin-1", "Request_UnsupportedMediaType"),
        ("multipart/form-data; boundary=batch_1", "Request_UnsupportedMediaType"),
        ("multipart/mixed", "BadRequest"),
        ("multipart/mixed; boundary=", "BadRequest"),
        ('multipart/mixed; boundary=""', "BadRequest"),
        ("multipart/mixed; boundary=" + "x" * 300, "BadRequest"),
    ],
)
def test_a_batch_is_sent_in_one_of_two_formats(
    content_type: str, code: str, company: Company
) -> None:
    answer = send_multipart(company, f"{POST}--batch_1--", content_type=content_type)

    refusal(answer, code, "Content-Type")
    assert company.listed("shippingAgentsExt") == []


OF_PARTS: Mapping[str, tuple[Mapping[str, str], str]] = {
    "If-Match": ({"If-Match": "*"}, "If-Match"),
    "If-None-Match": ({"If-None-Match": "*"}, "If-None-Match"),
}


@together("what", OF_PARTS)
def test_headers_for_single_requests_are_refused(what: str, company: Company) -> None:
    """An ignored precondition would lose an update (OData Protocol 4.01, 8.2)."""
    headers, target = OF_PARTS[what]

    refusal(send_documents(company, [CREATE], headers), "BadRequest", target)
    assert company.listed("shippingAgentsExt") == []


@together("option", ["$filter=x", "$top=1", "top=1"])
def test_query_options_do_not_apply_to_a_batch(option: str, company: Company) -> None:
    answer = company.request("POST", "$batch", option, {"requests": [CREATE]})

    refusal(answer, "BadRequest_InvalidRequestUrl", f"${option.lstrip('$').partition('=')[0]}")
    assert company.listed("shippingAgentsExt") == []


def test_custom_options_are_ignored(company: Company) -> None:
    answer = company.request("POST", "$batch", "sap-client=100", {"requests": [CREATE]})

    assert answer.status_code == 200


CHECKS: Mapping[str, tuple[Mapping[str, str], bytes, str]] = {
    "media type before format": (
        {"Content-Type": "text/plain", "Accept": "text/html"},
        b"{",
        "Request_UnsupportedMediaType",
    ),
    "format before headers": (
        {"Accept": "text/html", "If-Match": "*"},
        b"{",
        "Request_NotAcceptable",
    ),
    "headers before size": ({"If-Match": "*"}, b"x" * (9 << 20), "BadRequest"),
    "size before body": ({}, b"{" * (9 << 20), "Request_BodyTooLarge"),
}


@together("order", CHECKS)
def test_checks_come_in_order(order: str, company: Company) -> None:
    headers, body, code = CHECKS[order]

    refusal(company.request("POST", "$batch", body=body, headers=headers), code)


def send(client: Client, content_type: str, body: bytes) -> httpx.Response:
    return client.request("POST", "$batch", body=body, headers={"Content-Type": content_type})


def test_a_batch_of_one_format_declared_as_the_other_is_refused(company: Company) -> None:
    refusal(send(company, MULTIPART, b'{"requests": []}'), "BadRequest", "The body")
    refusal(send(company, "application/json", f"{POST}--batch_1--".encode()), "BadRequest")
    assert STATUSES["BadRequest"] == 400
