"""A kept request: its checks, who may see it, what it lacks, how it is sent again, its record."""

import asyncio
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import accumulate
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

import msgspec

from comptoir.auth.origins import needs_credentials, own_origins
from comptoir.auth.records import Client
from comptoir.auth.token_endpoint import GRANT
from comptoir.config import Settings
from comptoir.edm.model import EntitySet, Model
from comptoir.errors.refusal import CHECK_ORDER, Check, Refusal
from comptoir.features.console.backend import QUICK_SECONDS, CompanyChoice, company_with_id
from comptoir.features.console.curl import curl, form_curl
from comptoir.features.console.values import decoded
from comptoir.features.console.visit import Visit
from comptoir.features.inspector import errors
from comptoir.features.inspector.inspector import Inspecting
from comptoir.features.inspector.record import LONGEST_URL, ExchangeRecord, Head, Message
from comptoir.http.redaction import MASK
from comptoir.http.routes import Routes
from comptoir.plan.target import Resource, resolve
from comptoir.request.batch.tree import BATCH
from comptoir.request.headers import Headers, combined
from comptoir.request.path import READ_METHODS, company_id_of, parse_path
from comptoir.response.response import whole_body

_COMPANY = re.compile(r"companies\(([^)]*)\)")
_OF_WRITES = frozenset({Check.SIZE, Check.PRECONDITION, Check.TAG, Check.VALUES, Check.UNIQUENESS})

OWN_HEADERS = frozenset({
    "accept-encoding", "authorization", "connection", "content-length", "cookie", "expect", "host",
    "keep-alive", "proxy-authorization", "proxy-connection", "te", "trailer", "transfer-encoding",
    "upgrade", "user-agent",
})  # fmt: skip
"""Headers of a request that the next client sets by itself."""


async def found_request(visit: Visit) -> ExchangeRecord:
    """The request that the path names; raises `Refusal` (404) for one that the user cannot see."""
    inspector = visit.backend.feature(Inspecting).inspector
    found = await inspector.find(visit.request.path_params["id"])
    if found is None or not is_visible(found, visit.login.companies):
        raise errors.NOT_KEPT(count=inspector.requests)
    return found


def check_results(record: ExchangeRecord) -> Mapping[str, bool | None]:
    """The checks of a request in their order, and whether each was passed; None: not reached."""
    if record.parts or record.error or not (record.by or record.check):
        return {}
    refused_by = record.check
    order = [
        each
        for each in CHECK_ORDER
        if record.method not in READ_METHODS or each not in _OF_WRITES or each == refused_by
    ]
    if not refused_by:
        return dict.fromkeys(order, True) if record.status < 400 else {}
    if refused_by not in order:
        # it is at any time, but the client is known by its token, which is checked first
        order.insert(1 if record.by else 0, Check(refused_by))
    at = order.index(Check(refused_by))
    return {each: None if n > at else n < at for n, each in enumerate(order)}


def is_visible(head: Head, companies: frozenset[str] | None) -> bool:
    """Whether a user who may see only some companies, None for all, may see a request."""
    if companies is None:
        return True
    paths = [head.path]
    if isinstance(head, ExchangeRecord):
        # one that continues the record of an earlier request is of the same company
        paths += [each.url.partition("?")[0] for each in head.parts if each.url[:1] != "$"]
    for path in paths:
        named = [each.lower() for each in _COMPANY.findall(unquote(path))]
        # others may name their company in an option or a header
        if not named or not companies.issuperset(named):
            return False
    return True


def pretty(text: str) -> str:
    """A text, indented if it is JSON."""
    try:
        return msgspec.json.format(text)
    except msgspec.DecodeError:
        return text


def why_not_replayable(record: ExchangeRecord, routes: Routes) -> str:
    """Why the console cannot send a request again; blank if it can."""
    if not routes.serves(record.path.encode("latin-1", "replace")):
        return "The request is not for the API"
    is_batch = unquote(record.path.rpartition("/")[2]) == BATCH
    return "The request is a batch" if is_batch else ""


def missing_part(record: ExchangeRecord) -> str:
    """The part of a request that is not kept; blank if it is kept as a whole."""
    if MASK in f"{record.path}{record.query}{record.request.body.text}":
        return "The request has a secret, which is not kept"
    return next((f"The whole {each} of the request is not kept" for each in cut_fields(record)), "")


def cut_fields(record: ExchangeRecord) -> Iterator[str]:
    """The fields of a request, `address` and `body`, whose whole is not kept."""
    body = record.request.body
    if max(len(record.path), len(record.query)) >= LONGEST_URL:
        yield "address"
    if body.length and (body.text is None or body.is_cut):
        yield "body"


def headers_of(message: Message) -> Headers:
    """The headers of a request, without those whose values are not kept."""
    kept = [each for each in message.headers if MASK not in each[1]]
    return combined(
        [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in kept]
    )


def command(record: ExchangeRecord, client: Client | None, settings: Settings) -> str:
    """A command that sends what is kept of a request, with the token in the variable `TOKEN`.

    For the token endpoint, it asks for what the client may have, with the secret in a variable too.
    """
    query = f"?{record.query}" if record.query else ""
    # a client may send a path that, joined to an address, would lead to another host
    url = f"{own_origins(settings)[0]}/{record.path.removeprefix('/')}{query}"
    if needs_credentials(record.path, settings):
        is_grant = record.path.endswith("/token")
        fields = {
            **({"grant_type": GRANT} if is_grant else {"token": "$TOKEN"}),
            "client_id": "$CLIENT_ID" if client is None else client.id,
            "client_secret": "$CLIENT_SECRET",
        }
        return form_curl(url, fields)
    body = record.request.body
    text = "" if body.is_cut else body.text or ""
    headers = {
        name: value
        for name, value in record.request.headers
        if name.lower() not in OWN_HEADERS and MASK not in value
    }
    return curl(record.method, url, headers, text)


MOST_SEGMENTS = 20
"""The most segments of a path that are looked at."""


class RequestedRecord(NamedTuple):
    """The record that a request is about; `tag` is its ETag now, blank without one."""

    company: CompanyChoice
    entity_set: EntitySet
    key: str
    tag: str


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
            path, company_id, entity_set = named
            company = await company_with_id(visit.backend, visit.principal, company_id)
            if company is None:
                return None
            key, user = entity_set.type.key, visit.principal
            response = await visit.backend.answer(user, "GET", path, f"$select={key}")
            found = decoded(await whole_body(response)) if response.status == 200 else {}
        if key in found:
            tag = str(found.get("@odata.etag", ""))
            return RequestedRecord(company, entity_set, str(found[key]), tag)
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


def _named(path: str, model: Model) -> tuple[str, str, EntitySet] | None:
    """The record with which a path begins, as late in the path as possible; it need not exist.

    Returns its path, the id of its company, and its set.
    """
    beginnings = list(accumulate(path.split("/")[:MOST_SEGMENTS], "{}/{}".format))
    for beginning in reversed(beginnings):
        # what the service does not know may follow a record, and a slash may be in a key
        with suppress(Refusal):
            segments = parse_path(beginning)
            company_id = company_id_of(segments)
            target = resolve(model, segments, company_id, at_root=False)
            if target.resource is Resource.RECORD and target.entity_set.per_company and company_id:
                return beginning, company_id, target.entity_set
    return None
