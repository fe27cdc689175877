"""A kept request: its checks, who may see it, what it lacks, and how it is sent again."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple
from urllib.parse import unquote

import msgspec

from comptoir.auth.origins import needs_credentials, own_origins
from comptoir.auth.records import Client
from comptoir.auth.token_endpoint import GRANT
from comptoir.config import Settings
from comptoir.errors.table import CHECK_ORDER, Check
from comptoir.features.console.curl import curl, form_curl
from comptoir.features.inspector.record import LONGEST_URL, ExchangeRecord, Head, Message
from comptoir.http.redaction import MASK
from comptoir.http.routes import Routes
from comptoir.request.batch.tree import BATCH
from comptoir.request.headers import Headers
from comptoir.request.path import READ_METHODS

_COMPANY = re.compile(r"companies\(([^)]*)\)")
_OF_WRITES = frozenset({Check.SIZE, Check.PRECONDITION, Check.TAG, Check.VALUES, Check.UNIQUENESS})

_OF_CONNECTION = frozenset(
    {
        "accept-encoding",
        "authorization",
        "connection",
        "content-length",
        "host",
        "transfer-encoding",
        "user-agent",
    }
)
"""Headers of a request that the next client sets by itself."""


class CheckResult(NamedTuple):
    """A check of a request: its name, whether it was passed, and how that is said.

    `passed` is None for a check that the request did not reach.
    """

    name: str
    passed: bool | None


def check_results(record: ExchangeRecord) -> Sequence[CheckResult]:
    """The checks of a request in their order, up to the one that refused it."""
    if record.parts or record.error or not (record.by or record.check):
        return ()
    refused_by = record.check
    order = [
        each
        for each in CHECK_ORDER
        if record.method not in READ_METHODS or each not in _OF_WRITES or each == refused_by
    ]
    if not refused_by:
        return [CheckResult(each, passed=True) for each in order] if record.status < 400 else ()
    if refused_by in order:
        at = order.index(Check(refused_by))
        return [CheckResult(each, None if n > at else n < at) for n, each in enumerate(order)]
    # the others are at any time, but the client is known by its token
    passed = [CheckResult(Check.TOKEN, passed=True)] if record.by else []
    rest = [each for each in order if not record.by or each is not Check.TOKEN]
    return [
        *passed,
        CheckResult(refused_by, passed=False),
        *(CheckResult(each, None) for each in rest),
    ]


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
    return "The request is a batch" if is_batch else missing_part(record)


def missing_part(record: ExchangeRecord) -> str:
    """The part of a request that is not kept; blank if it is kept as a whole."""
    if MASK in f"{record.path}{record.query}{record.request.body.text}":
        return "The request has a secret, which is not kept"
    if max(len(record.path), len(record.query)) >= LONGEST_URL:
        return "The whole URL of the request is not kept"
    body = record.request.body
    if body.length and (body.text is None or body.is_cut):
        return "The whole body of the request is not kept"
    return ""


def is_writing(record: ExchangeRecord) -> bool:
    """Whether a request may change records."""
    return record.method not in READ_METHODS


def headers_of(message: Message) -> Headers:
    """The headers of a request, without those whose values are not kept."""
    return {
        name.lower().encode("latin-1"): value.encode("latin-1")
        for name, value in message.headers
        if MASK not in value
    }


def command(record: ExchangeRecord, client: Client | None, settings: Settings) -> str:
    """A command that sends what is kept of a request, with the token in the variable `TOKEN`.

    For the token endpoint, it asks for what the client may have, with the secret in a variable too.
    """
    query = f"?{record.query}" if record.query else ""
    # a client may send a path that, joined to an address, would lead to another host
    url = f"{own_origins(settings)[0]}/{record.path.removeprefix('/')}{query}"
    if needs_credentials(record.path, settings):
        return form_curl(url, _form(record.path, client))
    body = record.request.body
    text = "" if body.is_cut else body.text or ""
    return curl(record.method, url, dict(_repeated(record.request)), text)


def _form(path: str, client: Client | None) -> Mapping[str, str]:
    is_grant = path.endswith("/token")
    return {
        **({"grant_type": GRANT} if is_grant else {"token": "$TOKEN"}),
        "client_id": "$CLIENT_ID" if client is None else client.id,
        "client_secret": "$CLIENT_SECRET",
    }


def _repeated(message: Message) -> Iterator[tuple[str, str]]:
    for name, value in message.headers:
        if name.lower() not in _OF_CONNECTION and MASK not in value:
            yield name, value
