"""Items that the control endpoint lists: entries of the log, requests, lines of the report."""

from collections.abc import Mapping

import msgspec

APPLIED = "applied"
NOT_APPLICABLE = "not applicable"


class Firing(msgspec.Struct, rename="camel"):
    """An entry of the log: a rule has acted on a request, the `count`-th that it has counted.

    For a delivery, `request` is the id of the subscription. `company` is the id of the company that
    the request is about, empty for a batch and whatever is about several or none. `outcome` is
    `applied`, or `not applicable` where the fault had nothing to change.
    """

    number: int
    at: str
    rule: str
    fault: str
    count: int
    client: str
    request: str
    method: str
    path: str
    company: str
    outcome: str = APPLIED


class Sent(msgspec.Struct, rename="camel"):
    """A request as a client has sent it; `body` is None unless it is JSON.

    Tokens and secret properties are masked. `company` is that of `Firing`, and `fault` names
    the rules that have acted on it.
    """

    at: str
    request: str
    client: str
    method: str
    path: str
    company: str = ""
    query: str = ""
    headers: Mapping[str, str] = {}
    body: object = None
    status: int = 0
    fault: str = ""


class TrapLine(msgspec.Struct, rename="camel"):
    """A line of a report: how often a trap was met, and how the clients went on.

    `by_fault` counts those that a fault has caused, and `too_early` the requests that were sent
    before `Retry-After` had passed. `recovered` is None for a trap that was not met; else it says
    whether the clients have recovered each time, as far as the service can see.
    """

    trap: str
    meaning: str
    remedy: str
    met: int
    by_fault: int
    too_early: int
    recovered: str | None
