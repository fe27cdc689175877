"""What the console says of a kept request: its checks, who may see it, how to send it again."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple
from urllib.parse import unquote

import msgspec

from comptoir.auth.origins import own_origins
from comptoir.config import Settings
from comptoir.console.curl import curl
from comptoir.errors import CHECK_ORDER, Check
from comptoir.inspector.record import ExchangeRecord, Head, Message
from comptoir.inspector.redaction import MASK
from comptoir.request.methods import READ_METHODS

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
    if record.parts or not (record.by or record.check):
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
    texts = [head.path]
    if isinstance(head, ExchangeRecord):
        texts += [each.url for each in head.parts]
    named = [each.lower() for text in texts for each in _COMPANY.findall(unquote(text))]
    return bool(_COMPANY.search(unquote(head.path))) and companies.issuperset(named)


def pretty(text: str) -> str:
    """A text, indented if it is JSON."""
    try:
        return msgspec.json.format(text)
    except msgspec.DecodeError:
        return text


def command(record: ExchangeRecord, settings: Settings) -> str:
    """A command that sends the request with the token in the variable `TOKEN`."""
    query = f"?{record.query}" if record.query else ""
    # a client may send a path that, joined to an address, would lead to another host
    url = f"{own_origins(settings)[0]}/{record.path.removeprefix('/')}{query}"
    body = "" if lacks_body(record.request) else record.request.body.text or ""
    return curl(record.method, url, dict(_repeated(record.request)), body)


def lacks_body(request: Message) -> bool:
    """Whether a request had a body that is not kept as a whole."""
    body = request.body
    return body.length > 0 and (body.text is None or body.is_cut)


def _repeated(message: Message) -> Iterator[tuple[str, str]]:
    for name, value in message.headers:
        if name.lower() not in _OF_CONNECTION and value != MASK:
            yield name, value
