"""Content codings: their choice, the sizes that are compressed, and unchanged content."""

import pytest

from support.client import record
from support.codings import decoded
from support.companies import Company
from support.databases import ON_SQLITE
from support.together import together

pytestmark = ON_SQLITE  # nothing of this is up to the database

PAGE = "shippingAgentsExt"


@pytest.fixture(scope="module")
def agents(service: object, stocked: Company) -> Company:
    """A company with two hundred shipping agents more, so that a page is streamed."""
    stocked.load(PAGE, *({"code": f"A{n}", "name": f"Agent {n}"} for n in range(200)))
    return stocked


@together("coding", ["gzip", "zstd"])
def test_a_record_is_compressed_if_that_saves_a_packet(coding: str, company: Company) -> None:
    short = company.post("contactsExt", {"displayName": "x"})
    long = company.post("contactsExt", {"displayName": "x", "addressLine1": "street " * 100})
    headers = {"Accept-Encoding": coding}

    for created, coded in ((short, None), (long, coding)):
        read = company.get(f"contactsExt({record(created, 201)['id']})", headers=headers)
        assert read.headers.get("content-encoding") == coded
        assert read.headers.get("vary") == ("Accept, Accept-Encoding" if coded else "Accept")
        assert decoded(read.content) == created.content.replace(b"", b"")
        assert read.headers["etag"] == created.headers["etag"]


def test_a_client_that_excludes_identity_gets_even_errors_compressed(company: Company) -> None:
    headers = {"Accept-Encoding": "zstd, identity;q=0"}

    answer = company.get("contactsExt", "$filter=nonsense", headers)

    assert answer.status_code == 400
    assert answer.headers["content-encoding"] == "zstd"
    assert b"BadRequest_InvalidRequestUrl" in decoded(answer.content)


def test_a_304_has_no_body_to_compress(company: Company) -> None:
    created = company.post("contactsExt", {"displayName": "x" * 2_000})
    path = f"contactsExt({record(created, 201)['id']})"
    headers = {"Accept-Encoding": "zstd, identity;q=0", "If-None-Match": created.headers["etag"]}

    answer = company.get(path, headers=headers)

    assert (answer.status_code, answer.content) == (304, b"")
    assert "content-encoding" not in answer.headers
    assert answer.headers["vary"] == "Accept, Accept-Encoding"


@together("coding", ["identity", "gzip", "zstd"])
@together("query", ["$top=100", "$top=1", "$filter=code eq 'none'"])
def test_head_has_the_headers_of_get_in_every_coding(
    query: str, coding: str, agents: Company
) -> None:
    headers = {"Accept-Encoding": coding}
    read, head = (
        agents.request(method, PAGE, query, headers=headers) for method in ("GET", "HEAD")
    )

    assert (head.status_code, head.content) == (200, b"")
    # a busy service may stream a page that it otherwise sends at once, with its length
    assert head.headers.keys() | {"content-length"} == read.headers.keys() | {"content-length"}
    for name in (head.headers.keys() & read.headers.keys()) - {"x-request-id"}:
        assert head.headers[name] == read.headers[name]


def test_a_body_with_the_coding_identity_is_read(company: Company) -> None:
    answer = company.post("contactsExt", {"displayName": "x"}, {"Content-Encoding": "Identity"})

    assert record(answer, 201)["displayName"] == "x"
