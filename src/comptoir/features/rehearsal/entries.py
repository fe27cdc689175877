"""Items that the control endpoint lists: entries of the log, requests, lines of the report.

A line of the report is about a trap. A client that has met one has recovered once a request to the
same address has succeeded. Where the service cannot see that, only the client's own test can.
"""

from collections.abc import Mapping
from enum import StrEnum

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


class Trap(StrEnum):
    """A behaviour that an integration meets sooner or later, and the answer of a sound client.

    `is_visible` is whether a later request to the same address shows that a client has recovered.
    """

    meaning: str
    remedy: str
    is_visible: bool

    def __new__(cls, name: str, meaning: str, remedy: str, is_visible: bool = True) -> "Trap":
        """A trap, by its name."""
        trap = str.__new__(cls, name)
        trap._value_ = name
        trap.meaning, trap.remedy, trap.is_visible = meaning, remedy, is_visible
        return trap

    # fmt: off
    MISSING_TAG = ("missing-tag", "An update without If-Match is refused.",
        "Read the record and send its ETag.")
    STALE_TAG = ("stale-tag", "The record has changed since it was read.",
        "Read the record, decide again, and send its current ETag.")
    THROTTLING = ("throttling", "The client has sent too many requests.",
        "Wait as long as Retry-After says.")
    PAGE_LIMIT = ("page-limit", "A list is longer than a page.",
        "Follow @odata.nextLink to the last page.")
    EXPIRED_LINK = ("expired-link", "The link to a page is not valid any longer.",
        "Start the list again.")
    LOST_ANSWER = ("lost-answer",
        "The connection ends before the answer, and the write may be done.",
        "Look for the record before the request is sent again.")
    EXPIRED_TOKEN = ("expired-token", "The token is not accepted any longer.",
        "Get another token and send the request again.")
    STALE_READ = ("stale-read", "A read shows an earlier state.",
        "Do not read a record to find out whether it was written.", False)
    LOCK = ("lock", "Another session is updating the table.",
        "Send the request again a little later.")
    GATEWAY_PAGE = ("gateway-page", "An error has a body in HTML or XML.",
        "Read the status before the body, and send the request again later.")
    UPDATE_WINDOW = ("update-window", "The service is unavailable for minutes.",
        "Wait longer after each attempt.")
    BATCH_ROLLED_BACK = ("batch-rolled-back", "Answers of a batch say 201, and nothing is stored.",
        "Trust a batch with a snapshot only if all its answers are successes.", False)
    REPEATED_NOTIFICATION = ("repeated-notification", "A notification comes twice.",
        "Compare with what is known before acting on it.", False)
    REFUSED_OR = ("refused-or", "A filter with `or` over two properties is refused.",
        "Send a request for each of them.", False)
    REFUSED_VALUE = ("refused-value", "A value is too long, unknown or missing.",
        "Correct the value that the error names.")
    # fmt: on


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
