"""The view of a kept request: its checks, who may see it, what it lacks."""

import re
from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import unquote

import msgspec

from comptoir.errors.table import (
    CHECK_ORDER,
    Check,
)
from comptoir.features.inspector.record import ExchangeRecord, Head, Message
from comptoir.request.path import READ_METHODS

_COMPANY = re.compile(r"companies\(([^)]*)\)")
_OF_WRITES = frozenset({Check.SIZE, Check.PRECONDITION, Check.TAG, Check.VALUES, Check.UNIQUENESS})


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


def lacks_body(request: Message) -> bool:
    """Whether a request had a body that is not kept as a whole."""
    body = request.body
    return body.length > 0 and (body.text is None or body.is_cut)
