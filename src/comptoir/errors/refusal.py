"""What is raised: a refusal of a request, by its row, or an error that the operator can fix."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Self

import msgspec

from comptoir.errors.messages import filled, message, suggestion

Fact = str | int | float
"""A value in a message."""

Facts = Mapping[str, Fact]
"""Values in a message, by their names."""


class Check(StrEnum):
    """A check that may refuse a request.

    Those from `TOKEN` to `UNIQUENESS` come in this order. The others may refuse a request at any
    time.
    """

    TOKEN = "token"  # noqa: S105 - a name
    COMPANY = "company"
    RESOURCE = "resource"
    METHOD = "method"
    SCOPE = "scope"
    MEDIA_TYPE = "media type"
    SIZE = "size"
    PRECONDITION = "precondition"
    SYNTAX = "syntax"
    RECORD = "record"
    TAG = "tag"
    VALUES = "values"
    UNIQUENESS = "uniqueness"
    LIMIT = "limit"
    FAULT = "fault"
    SERVICE = "service"


CHECK_ORDER = tuple(Check)[: tuple(Check).index(Check.LIMIT)]
"""The checks that come in an order."""


class ExceededLimit(StrEnum):
    """The limit that a request with 429 has exceeded, for the metrics."""

    RATE = "rate"
    CONCURRENCY = "concurrency"
    QUOTA = "quota"
    QUEUE = "queue"
    GUESSES = "guesses"


class ErrorType(msgspec.Struct, frozen=True, eq=False):
    """A row of the table; `code` is stable across releases.

    `check` is the one that refuses a request with it, unless the refusal's row has another one.
    """

    code: str
    status: int
    check: Check
    meaning: str
    remedy: str

    def row(
        self,
        problem: str,
        remedy: str,
        check: Check | None = None,
        *,
        group: str = "",
        limit: ExceededLimit | None = None,
        headers: Mapping[str, str] = MappingProxyType({}),
    ) -> "RefusalRow":
        """A refusal with this error."""
        return RefusalRow(self, problem, remedy, check, group, limit, headers)


class RefusalRow(msgspec.Struct, frozen=True, eq=False):
    """A refusal that a client can get; `problem`, `remedy` and `headers` are templates of facts.

    A template may contain `{fact}`, with a format (`{fact:.20}`) or in quotes (`{fact!q}`). `check`
    is the one that refuses, if it is not the error's. A profile may have another response to the
    rows of a `group`. `limit` is the one that was exceeded.
    """

    error: ErrorType
    problem: str
    remedy: str
    check: Check | None
    group: str
    limit: ExceededLimit | None
    headers: Mapping[str, str]

    def __call__(
        self,
        target: str | None = None,
        position: int | None = None,
        /,
        *,
        error: ErrorType | None = None,
        headers: Mapping[str, str] | None = None,
        known: Iterable[str] = (),
        more: Facts = MappingProxyType({}),
        **facts: Fact,
    ) -> "Refusal":
        """The refusal with its facts.

        `target` is the name of a property, a query option or a header, as the client wrote it;
        `position`, counted from 0, is the place of the error in the text of that option. `error` is
        another one than that of the row. If the fact `name` is like one of the `known` names, the
        remedy is to send that. `headers` are added to those of the row, and `more` are further
        facts.
        """
        facts.update(more)
        nearest = suggestion(f"{facts['name']}", known) if known else ""
        column = None if position is None else position + 1
        return Refusal(self, facts, error, nearest, target, column, headers)


class OAuthError(msgspec.Struct, frozen=True):
    """A row of the table of the token endpoint's errors (RFC 6749, 5.2).

    `number` is what Microsoft's client libraries know the error by. `check` is the one that
    refuses a request with it.
    """

    error: str
    number: int
    status: int
    check: Check
    meaning: str


class Refusal(Exception):  # noqa: N818 - a response, not an error of the program
    """A request that gets an error of the table as its response; its row makes it.

    `problem` and `remedy` make the message (`messages.message`). `target` names the place: a
    property, a query option or a header; with `column`, counted from 1, it is the option that has
    the error there. `headers` are added to the response. `group` and `facts` choose and fill the
    response that a profile has instead. `others` are further errors of the request. `denial` is
    the refusal of a client's secret that this one passes on, and `change` the number of the change
    that made the version of the record that did not meet a precondition.
    """

    def __init__(
        self,
        row: RefusalRow,
        facts: Facts,
        error: ErrorType | None = None,
        remedy: str = "",
        target: str | None = None,
        column: int | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.row = row
        self.error = error or row.error
        self.problem = filled(row.problem, facts)
        self.remedy = remedy or filled(row.remedy, facts)
        self.facts = facts
        self.group = row.group
        self.check = row.check or self.error.check
        if self.error.code == "BadRequest" and "-" in (target or ""):
            # a header; names of properties have no hyphen
            self.check = row.check or Check.PRECONDITION
        templates = row.headers.items()
        self.headers = {name: filled(text, facts) for name, text in templates} | dict(headers or {})
        self.others: Sequence[Refusal] = ()
        self.denial: OAuthRefusal | None = None
        self.change: int | None = None
        self.at(target, column)

    def at(self, target: str | None, column: int | None) -> Self:
        """The same refusal of what is at a place."""
        self.target, self.column = target, column
        self.message = message(self.problem, self.remedy, column=column, option=target or "")
        self.args = (self.message,)
        return self

    def grouped(self, group: str, **facts: Fact) -> Self:
        """The same refusal as one of another group, with the facts of that."""
        self.group, self.facts = group, {**self.facts, **facts}
        return self


@dataclass(eq=False)
class OAuthRefusal(Exception):  # noqa: N818 - as `Refusal`
    """A request to the token endpoint that gets an error of its table as its response.

    `problem` and `remedy` make the description (`messages.message`). `reason` is for the operator,
    where the client must not learn it; else it is the problem. So is `client`, the name of the
    client as in the logs, blank if it is not known.
    """

    error: OAuthError
    problem: str
    remedy: str
    headers: Mapping[str, str]
    reason: str
    client: str

    @property
    def message(self) -> str:
        """What is wrong, and what to do."""
        return message(self.problem, self.remedy)


class OperatorError(Exception):
    """A condition that the operator can fix, shown in one line without a traceback.

    `problem` and `remedy` make the message (`messages.message`). `details` are further lines.
    """

    def __init__(self, problem: str, remedy: str) -> None:
        super().__init__(message(problem, remedy))
        self.problem = problem
        self.remedy = remedy
        self.details: Sequence[str] = ()


class UnreachableError(OperatorError):
    """The database cannot be reached; a service that starts waits for it."""
