"""Requests for a direct call of the service, over a company's database."""

from collections.abc import Mapping

import msgspec

from comptoir.auth.roles import Principal
from comptoir.auth.tokens import Scope
from comptoir.response.response import Root
from comptoir.service import Request
from support.client import Body
from support.companies import Company


def request_of(
    company: Company, method: str, path: str, body: Body, headers: Mapping[str, str] | None = None
) -> Request:
    """A write of a company."""

    async def read_body() -> bytes:
        return msgspec.json.encode(body)

    sent = {"content-type": "application/json", **(headers or {})}
    return Request(
        method=method,
        root=Root(company.root.partition("/companies(")[0]),
        path=f"/companies({company.id})/{path}",
        query="",
        headers={name.lower().encode(): value.encode() for name, value in sent.items()},
        principal=Principal("tests", frozenset({Scope.RECORDS_WRITE}), None),
        read_body=read_body,
    )
