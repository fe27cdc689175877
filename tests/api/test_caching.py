"""Headers for caches (RFC 9111), and against guessing the media type."""

import httpx
import pytest

from support.client import Client, record
from support.companies import Company
from support.databases import ON_SQLITE
from support.samples import PATHS
from support.server import Server
from support.service import Service
from support.sockets import ask
from support.together import together

pytestmark = ON_SQLITE  # nothing of this is up to the database

REVALIDATED = "private, no-cache"


def guards(answer: httpx.Response) -> tuple[str, ...]:
    """The values of X-Content-Type-Options and Cache-Control."""
    assert len(answer.headers.get_list("cache-control")) == 1
    return answer.headers["x-content-type-options"], answer.headers["cache-control"]


@together("method", ["GET", "HEAD"])
@together("part", ["", "/displayName", "/displayName/$value"])
def test_a_record_is_cached_by_its_client_only_and_revalidated(
    part: str, method: str, stocked: Company
) -> None:
    answer = stocked.request(method, f"{PATHS['contactsExt']}{part}")

    assert answer.status_code == 200
    assert guards(answer) == ("nosniff", REVALIDATED)
    assert "Accept" in answer.headers["vary"].split(", ")


def test_a_304_has_the_same_headers(stocked: Company) -> None:
    tag = stocked.get(PATHS["contactsExt"]).headers["etag"]
    answer = stocked.get(PATHS["contactsExt"], headers={"If-None-Match": tag})

    assert answer.status_code == 304
    assert guards(answer) == ("nosniff", REVALIDATED)
    assert "Accept" in answer.headers["vary"].split(", ")


def test_the_response_to_a_write_is_not_cached(company: Company) -> None:
    created = company.post("contactsExt", {"displayName": "One"})
    path = f"contactsExt({record(created, 201)['id']})"
    changed = company.patch(path, {"displayName": "Two"}, created.headers["etag"])
    deleted = company.delete(path, "*")

    assert [each.status_code for each in (created, changed, deleted)] == [201, 200, 204]
    for answer in (created, changed, deleted):
        assert guards(answer) == ("nosniff", "no-store")


def test_the_parts_of_a_batch_have_no_cache_headers(stocked: Company) -> None:
    """A cache does not read the parts of a body."""
    requests = [{"id": "1", "method": "GET", "url": PATHS["contactsExt"]}]
    answer = stocked.post("$batch", {"requests": requests})

    assert guards(answer) == ("nosniff", "no-store")
    assert "cache-control" not in answer.text.lower()


@pytest.fixture(params=["in this process", "over a socket"])
def origin(request: pytest.FixtureRequest, service: Service, server: Server) -> Client:
    """A client without a token at the root of a server."""
    return service.origin if request.param == "in this process" else server.origin


@together(
    ("path", "caches"),
    [
        ("api/companies", "no-store"),
        ("nothing", "no-store"),
        ("healthz", "no-store"),
        ("readyz", "no-store"),
        ("metrics", "no-store"),
        ("docs", "no-cache"),
        ("docs/start.js", "no-cache"),
        ("docs/openapi.json", "no-cache"),
    ],
)
def test_pages_without_a_token_have_cache_headers(path: str, caches: str, origin: Client) -> None:
    assert guards(origin.get(path)) == ("nosniff", caches)


@together("request_line", [b"hello\r\n\r\n", b"GET / HTTP/9.9\r\nHost: t\r\n\r\n"])
def test_errors_of_the_server_have_cache_headers(request_line: bytes, server: Server) -> None:
    with server.connect() as connection:
        answer = ask(connection, request_line)

    assert guards(answer) == ("nosniff", "no-store")
