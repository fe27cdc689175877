"""Atomic groups of writes, sent directly to a service over a company's database."""

from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import msgspec

from comptoir.app import open_store
from comptoir.auth.roles import Principal
from comptoir.auth.tokens import Scope
from comptoir.catalog import MODEL
from comptoir.config import Settings
from comptoir.plan.read import Row
from comptoir.response.response import Response, Root
from comptoir.service import Request, Service
from comptoir.service.writes import AtomicGroup
from support.client import Body, Record
from support.companies import Company


@dataclass(frozen=True)
class Part:
    """A request of a group; `{n}` in its path is the path of the record of request n."""

    method: str
    path: str
    body: Body | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    company: str = ""


def run_group(company: Company, settings: Settings, *parts: Part) -> list[Response]:
    """Execute writes atomically, and return the responses; raises the error of the group."""
    return company.admin.wait(_run(company, settings, parts))


def shown(answer: Response) -> Record:
    """The record in a response of a group."""
    assert isinstance(answer.body, bytes)
    return msgspec.json.decode(answer.body, type=Record)


async def _run(company: Company, settings: Settings, parts: Sequence[Part]) -> list[Response]:
    store = open_store(settings)
    try:
        group = Service(MODEL, store, settings).atomic()
        paths: list[str] = []
        for part in parts:
            paths.append(await _add(group, company, part, paths) or "")
        return await group.commit()
    finally:
        await store.close()


async def _add(
    group: AtomicGroup, company: Company, part: Part, paths: Sequence[str]
) -> str | None:
    path = part.path.format(*paths) if part.path.startswith("{") else part.path
    return await group.add(request_of(company, replace(part, path=path)))


def request_of(company: Company, part: Part) -> Request:
    """The request of a part with a resolved path, for a direct call of the service."""
    content = part.body if isinstance(part.body, bytes) else msgspec.json.encode(part.body)

    async def read_body() -> bytes:
        return content

    async def while_connected(rows: Awaitable[list[Row]]) -> list[Row]:
        return await rows

    headers = {"content-type": "application/json", **part.headers}
    under = f"/companies({part.company or company.id})/"
    return Request(
        method=part.method,
        root=Root(company.root.partition("/companies(")[0]),
        path=part.path if part.path.startswith("/") else under + part.path,
        query="",
        headers={name.lower().encode(): value.encode() for name, value in headers.items()},
        principal=Principal("tests", frozenset({Scope.RECORDS_WRITE}), None),
        read_body=read_body,
        while_connected=while_connected,
    )
