"""Headers for caches (RFC 9111), and against guessing the media type."""

import httpx
import pytest

from support.client import Client
from support.databases import ON_SQLITE
from support.server import Server
from support.service import Service
from support.sockets import ask
from support.together import together

pytestmark = ON_SQLITE  # nothing of this is up to the database


def guards(answer: httpx.Response) -> tuple[str, ...]:
    """The values of X-Content-Type-Options and Cache-Control."""
    assert len(answer.headers.get_list("cache-control")) == 1
    return answer.headers["x-content-type-options"], answer.headers["cache-control"]


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


def test_every_response_has_a_different_id(service: Service) -> None:
    ids = {service.origin.get("healthz").headers["x-request-id"] for _ in range(20)}

    assert len(ids) == 20
