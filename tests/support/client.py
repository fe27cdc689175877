"""A client of the API, which builds requests and sends them by a carrier."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, Self
from urllib.parse import quote

import httpx
import msgspec

Body = Mapping[str, object] | bytes
Record = dict[str, str | int | float | bool]
Query = Mapping[str, str | int] | str


class Carrier(Protocol):
    """Sends requests to a service, within this process or over a socket."""

    def send(self, request: httpx.Request) -> httpx.Response:
        """Send a request and return the whole response."""

    def send_all(self, requests: Sequence[httpx.Request]) -> list[httpx.Response]:
        """Send requests concurrently, and return the responses in the order of the requests."""


@dataclass(frozen=True)
class Client:
    """A client with a token, for the addresses under `root`."""

    carrier: Carrier
    root: str
    token: str

    def using(self, token: str) -> Self:
        """The same client with another token."""
        return replace(self, token=token)

    def build(
        self,
        method: str,
        path: str,
        query: Query = "",
        body: Body | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> httpx.Request:
        """A request; a body in bytes is sent unchanged, any other as JSON."""
        url = f"{self.root}/{path}" if path else self.root
        text = query if isinstance(query, str) else encoded(query)
        sent = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        if body is not None:
            sent["Content-Type"] = "application/json"
        sent |= headers or {}
        content = body if isinstance(body, bytes) or body is None else msgspec.json.encode(body)
        return httpx.Request(
            method, f"{url}?{text}" if text else url, headers=sent, content=content
        )

    def request(
        self,
        method: str,
        path: str,
        query: Query = "",
        body: Body | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> httpx.Response:
        return self.carrier.send(self.build(method, path, query, body, headers))

    def get(
        self, path: str, query: Query = "", headers: Mapping[str, str] | None = None
    ) -> httpx.Response:
        return self.request("GET", path, query, headers=headers)

    def follow(self, link: str, headers: Mapping[str, str] | None = None) -> httpx.Response:
        """GET a complete URL, such as `@odata.nextLink`."""
        sent = {"Authorization": f"Bearer {self.token}", **(headers or {})}
        return self.carrier.send(httpx.Request("GET", link, headers=sent))

    def post(
        self, path: str, body: Body, headers: Mapping[str, str] | None = None
    ) -> httpx.Response:
        return self.request("POST", path, body=body, headers=headers)

    def patch(
        self,
        path: str,
        body: Body,
        if_match: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> httpx.Response:
        return self.request("PATCH", path, body=body, headers=_guarded(if_match, headers))

    def put(
        self,
        path: str,
        body: Body,
        if_match: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> httpx.Response:
        return self.request("PUT", path, body=body, headers=_guarded(if_match, headers))

    def delete(
        self, path: str, if_match: str | None = None, headers: Mapping[str, str] | None = None
    ) -> httpx.Response:
        return self.request("DELETE", path, headers=_guarded(if_match, headers))

    def record(self, path: str) -> Record:
        """A record that exists."""
        return record(self.get(path))

    def listed(self, path: str, query: Query = "") -> list[Record]:
        """The records of a collection with one page."""
        return values(self.get(path, query))


def _guarded(if_match: str | None, headers: Mapping[str, str] | None) -> dict[str, str]:
    guard = {} if if_match is None else {"If-Match": if_match}
    return {**guard, **(headers or {})}


def encoded(query: Mapping[str, str | int]) -> str:
    """A query string, percent-encoded."""
    return "&".join(f"{quote(name)}={quote(str(value), safe='')}" for name, value in query.items())


class Page(msgspec.Struct):
    """A page of a collection."""

    value: list[Record]
    next_link: str | None = msgspec.field(default=None, name="@odata.nextLink")
    count: int | None = msgspec.field(default=None, name="@odata.count")


def page(response: httpx.Response) -> Page:
    """The page in a response with status 200."""
    assert response.status_code == 200, response.text
    return msgspec.json.decode(response.content, type=Page)


def pages(client: Client, path: str, query: Query, size: int) -> Iterator[list[Record]]:
    """The pages of a collection, each read on demand; all but the last have `size` records."""
    wishes = {"Prefer": f"odata.maxpagesize={size}"}
    read = page(client.get(path, query, wishes))
    while read.next_link is not None:
        assert len(read.value) == size
        yield read.value
        read = page(client.follow(read.next_link, wishes))
    yield read.value


def values(response: httpx.Response) -> list[Record]:
    """All records of a collection with one page."""
    read = page(response)
    assert read.next_link is None
    return read.value


def record(response: httpx.Response, status: int = 200) -> Record:
    """The record in a response with this status."""
    assert response.status_code == status, response.text
    return msgspec.json.decode(response.content, type=Record)


def tag_of(response: httpx.Response) -> str:
    """The entity tag of a response."""
    tag: str = response.headers["etag"]
    return tag
