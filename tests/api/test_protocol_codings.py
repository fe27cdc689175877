"""Content codings: their choice, the sizes that are compressed, and unchanged content."""

import pytest

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


def test_a_client_that_excludes_identity_gets_even_errors_compressed(company: Company) -> None:
    headers = {"Accept-Encoding": "zstd, identity;q=0"}

    answer = company.get("contactsExt", "$filter=nonsense", headers)

    assert answer.status_code == 400
    assert answer.headers["content-encoding"] == "zstd"
    assert b"BadRequest_InvalidRequestUrl" in decoded(answer.content)


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
