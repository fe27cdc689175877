"""The limits of a batch, each with its own error."""

from collections.abc import Mapping

from support.batches import HTTP, Entry, documents, parts, replies, send_documents, send_multipart
from support.companies import Company
from support.databases import ON_SQLITE
from support.refusals import refusal
from support.together import together

REQUESTS = 100


def reads(count: int) -> list[Entry]:
    read = {"method": "GET", "url": "shippingAgentsExt/$count"}
    return [{"id": str(number), **read} for number in range(count)]


def text_of(count: int) -> str:
    part = f"--batch_1\n{HTTP}\nGET shippingAgentsExt/$count HTTP/1.1\n\n"
    return part * count + "--batch_1--"


def test_a_batch_may_have_a_hundred_requests(company: Company) -> None:
    assert len(replies(send_documents(company, reads(REQUESTS)))) == REQUESTS
    assert len(parts(send_multipart(company, text_of(REQUESTS)))) == REQUESTS


def test_a_batch_may_be_larger_than_a_request(company: Company) -> None:
    """Eight requests of almost a megabyte each, and one above the limit."""
    create, name = {"method": "POST", "url": "contactsExt"}, "x" * 1_000_000
    answers = documents(
        company,
        *({"id": f"{each}", **create, "body": {"displayName": name}} for each in range(7)),
        {"id": "x", **create, "body": {"displayName": name + "x" * 50_000}},
        {"id": "y", "method": "GET", "url": "contactsExt/$count"},
    )

    assert answers.pop("x").error.code == "Request_BodyTooLarge"
    assert answers.pop("y").status == 200
    assert {reply.error.target for reply in answers.values()} == {"displayName"}


@ON_SQLITE  # the body is read before the database
@together("declared", [True, False])
def test_a_batch_that_is_too_large_is_refused(declared: bool, company: Company) -> None:
    body = b'{"requests": [' + b" " * (8 << 20) + b"]}"
    headers = {} if declared else {"Content-Length": "2"}

    answer = company.request("POST", "$batch", body=body, headers=headers)

    refusal(answer, "Request_BodyTooLarge")


def test_a_url_may_be_as_long_as_in_a_single_request(company: Company) -> None:
    def url(length: int) -> str:
        start = f"/api/companies({company.id})/contactsExt?x="
        return start + "x" * (length - len(start) + 1)

    new = {"atomicityGroup": "g", "method": "POST", "body": {"displayName": "x"}}
    answers = documents(
        company,
        {"id": "1", "method": "GET", "url": url(16 << 10)},
        {"id": "2", "method": "GET", "url": url((16 << 10) + 1)},
        {"id": "3", "method": "GET", "url": "contactsExt"},
        {"id": "4", **new, "url": "contactsExt"},
        {"id": "5", **new, "url": url((16 << 10) + 1)},
    )

    assert [each.status for each in answers.values()] == [200, 414, 200, 424, 414]
    assert answers["2"].error.code == answers["5"].error.code == "Request_UriTooLong"


@together(
    ("url", "headers", "place"),
    [
        ("contactsExt", dict.fromkeys(("x-a", "x-b"), "x" * 40_000), "requests[0].headers"),
        ("contactsExt", {f"x-{number}": "x" for number in range(101)}, "requests[0].headers"),
        (f"contactsExt?$skiptoken=x&$filter={'x' * (64 << 10)}", {}, "requests[0]"),
    ],
)
def test_the_headers_of_a_part_are_limited_and_its_url_counts(
    url: str, headers: Mapping[str, str], place: str, company: Company
) -> None:
    lines = "".join(f"{name}: {value}\n" for name, value in headers.items())
    text = f"--batch_1\n{HTTP}\nGET {url} HTTP/1.1\n{lines}\n--batch_1--"
    entry: Entry = {"id": "1", "method": "GET", "url": url, "headers": headers}

    refusal(send_documents(company, [entry]), "Request_HeadersTooLarge", place)
    refusal(send_multipart(company, text), "Request_HeadersTooLarge", "part 1")


def test_only_the_token_of_a_link_may_exceed_the_limit_of_urls(company: Company) -> None:
    long = "x" * (17 << 10)
    answers = documents(
        company,
        {"id": "1", "method": "GET", "url": f"contactsExt?$skiptoken={long}"},
        {"id": "2", "method": "GET", "url": f"contactsExt?$skiptoken=x&$filter={long}"},
        {"id": "3", "method": "GET", "url": f"contactsExt?$filter={long}&$skiptoken=x"},
    )

    assert answers["1"].error.target == "$skiptoken"
    assert {answers[each].error.code for each in "23"} == {"Request_UriTooLong"}


@together(
    ("member", "value"),
    [("if", "true and " * 1_000 + "true"), ("dependsOn", ["1"] * (REQUESTS + 1))],
)
def test_the_dependencies_of_a_request_are_limited(
    member: str, value: object, company: Company
) -> None:
    first: Entry = {"id": "1", "method": "GET", "url": "contactsExt"}
    second: Entry = {"id": "2", "method": "GET", "url": "contactsExt", member: value}

    answer = send_documents(company, [first, second])

    refusal(answer, "BadRequest", f"requests[1].{member}")


def folded(lines: int) -> str:
    """A part with a folded header."""
    return (
        f"--batch_1\n{HTTP}\nGET shippingAgentsExt/$count HTTP/1.1\n"
        f"X-A: a\n{' b' * 300}\n" + " c\n" * lines + "\n"
    )


@ON_SQLITE  # the body is read before the database
def test_long_folded_headers_are_read_quickly(company: Company) -> None:
    answers = parts(send_multipart(company, folded(lines=15_000) * 10 + "--batch_1--"))

    assert [each.body.strip() for each in answers] == [b"0"] * 10


HOSTILE = {
    "boundaries": b"--batch_1\r\n" * 700_000,
    "boundaries that are none": b"\n--batch_1x" * 700_000,
    "ends that are none": b"--batch_1\n" + b"\n--batch_1-- \t x" * 500_000,
    "blanks behind a boundary": b"--batch_1" + b" " * 8_000_000,
    "short lines": b"--batch_1\n" + b"a:\n" * 2_700_000 + b"--batch_1--",
    "one line": b"--batch_1\n" + b"x" * 8_000_000,
    "blank lines": b"--batch_1\nContent-Type: application/http\n\n"
    + b"\n" * 8_000_000
    + b"--batch_1--",
    "empty change sets": b"--batch_1\nContent-Type: multipart/mixed;boundary=c\n\n--c--\n"
    * 140_000,
}


@ON_SQLITE  # the body is read before the database
@together("what", HOSTILE)
def test_hostile_bodies_are_refused_quickly(what: str, company: Company) -> None:
    answer = send_multipart(company, HOSTILE[what])

    assert answer.status_code in (400, 413, 431)
