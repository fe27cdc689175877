"""The record that a kept request is about, by the service's own rules for paths."""

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from typing import NamedTuple
from urllib.parse import urlsplit

from comptoir.config import Settings
from comptoir.edm.model import EntitySet, Model
from comptoir.errors.refusal import Refusal
from comptoir.features.console.backend import QUICK_SECONDS, CompanyChoice, company_with_id
from comptoir.features.console.values import decoded
from comptoir.features.console.visit import Visit
from comptoir.features.inspector.exchanges import headers_of
from comptoir.features.inspector.record import ExchangeRecord
from comptoir.plan.target import Resource, company_id_of, resolve
from comptoir.request.path import first_segment, parse_path
from comptoir.response.response import whole_body

MOST_SEGMENTS = 20
"""The most segments of a path that are looked at."""


class RequestedRecord(NamedTuple):
    """The record that a request is about."""

    company: CompanyChoice
    entity_set: EntitySet
    key: str


class _NamedRecord(NamedTuple):
    """A record that a path names, which need not exist."""

    path: str
    company_id: str
    entity_set: EntitySet


async def requested_record(record: ExchangeRecord, visit: Visit) -> RequestedRecord | None:
    """The record that a request is about; None if the user may see none, or if it does not exist.

    Of a part of a record, and of records that are related to one, it is that record.
    """
    # the request is shown in any case
    with suppress(Refusal, TimeoutError):
        async with asyncio.timeout(QUICK_SECONDS):
            named = _named(await _path(record, visit), visit.backend.model)
            if named is None:
                return None
            company = await company_with_id(visit.backend, visit.principal, named.company_id)
            if company is None:
                return None
            key = named.entity_set.type.key
            response = await visit.answer("GET", named.path, f"$select={key}")
            found = decoded(await whole_body(response)) if response.status == 200 else {}
        if key in found:
            return RequestedRecord(company, named.entity_set, str(found[key]))
    return None


async def _path(record: ExchangeRecord, visit: Visit) -> str:
    """The path of a request, or of the record that it has created, below its service root.

    It has the company's id, however the request names the company. Blank outside the API.
    """
    path, query, headers = record.path, record.query, headers_of(record.request)
    if record.method == "POST":
        location = urlsplit(dict(record.response.headers).get("location", ""))
        path, query = _internal(location.path, visit.backend.settings), location.query
    if not visit.backend.routes.serves(path.encode("latin-1", "replace")):
        return ""
    return (await visit.backend.with_company_id(visit.principal, path, query, headers)).path


def _internal(path: str, settings: Settings) -> str:
    """The path of an address as the service gets it, which may be below that of a proxy."""
    public, base = urlsplit(settings.base_url).path.rstrip("/"), settings.base_path
    if path.startswith(public):
        return base + path.removeprefix(public)
    return path.removeprefix(public.removesuffix(base))


def _named(path: str, model: Model) -> _NamedRecord | None:
    """The record with which a path begins, as late in the path as possible."""
    for beginning in reversed(list(islice(_beginnings(path), MOST_SEGMENTS))):
        # what the service does not know may follow a record
        with suppress(Refusal):
            segments = parse_path(beginning)
            company_id = company_id_of(segments)
            target = resolve(model, segments, company_id, at_root=False)
            if target.resource is Resource.RECORD and target.entity_set.per_company and company_id:
                return _NamedRecord(beginning, company_id, target.entity_set)
    return None


def _beginnings(path: str) -> Iterator[str]:
    """The beginnings of a path, each one segment longer; ends at a malformed segment."""
    rest = path
    with suppress(Refusal):
        while rest:
            _, rest = first_segment(rest)
            yield path[: len(path) - len(rest)]
