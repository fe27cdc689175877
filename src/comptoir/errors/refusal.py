"""What is raised: a refusal of a request, or an error that the operator can fix."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Self

from comptoir.errors.messages import filled, message, suggestion
from comptoir.errors.table import BAD_REQUEST, Check, ErrorType, Fact, Facts, OAuthError, RefusalRow


@dataclass(frozen=True, slots=True)
class ErrorDetail:
    """One of several errors of a request."""

    code: str
    message: str
    target: str


class Refusal(Exception):  # noqa: N818 - a response, not an error of the program
    """A request that gets an error of the table as its response; `refuse` makes it from a row.

    `problem` and `remedy` make the message (`messages.message`). `target` names the place: a
    property, a query option or a header; with `column`, counted from 1, it is the option that has
    the error there. `headers` are added to the response. `group` and `facts` choose and fill the
    response that a profile has instead. `denial` is the refusal of a client's secret that this one
    passes on, and `change` the number of the change that made the version of the record that did
    not meet a precondition.
    """

    def __init__(
        self,
        row: RefusalRow,
        facts: Facts,
        error: ErrorType | None = None,
        remedy: str = "",
        target: str | None = None,
        column: int | None = None,
    ) -> None:
        self.row = row
        self.error = error or row.error
        self.problem = filled(row.problem, facts)
        self.remedy = remedy or filled(row.remedy, facts)
        self.facts = facts
        self.group = row.group
        self.check = row.check or self.error.check
        if self.error is BAD_REQUEST and "-" in (target or ""):
            # a header; names of properties have no hyphen
            self.check = row.check or Check.PRECONDITION
        self.headers: Mapping[str, str] = {
            name: filled(value, facts) for name, value in row.headers.items()
        }
        self.details: tuple[ErrorDetail, ...] = ()
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


def refuse(
    row: RefusalRow,
    target: str | None = None,
    position: int | None = None,
    /,
    *,
    error: ErrorType | None = None,
    headers: Mapping[str, str] | None = None,
    known: Iterable[str] = (),
    more: Facts = MappingProxyType({}),
    **facts: Fact,
) -> Refusal:
    """The refusal of a row, with its facts.

    `target` is the name of a property, a query option or a header, as the client wrote it;
    `position`, counted from 0, is the place of the error in the text of that option. `error` is
    another one than that of the row. If the fact `name` is like one of the `known` names, the
    remedy is to send that. `headers` are added to those of the row, and `more` are further facts.
    """
    facts.update(more)
    nearest = suggestion(f"{facts['name']}", known) if known else ""
    column = None if position is None else position + 1
    refusal = Refusal(row, facts, error, nearest, target, column)
    refusal.headers = {**refusal.headers, **(headers or {})}
    return refusal


class OAuthRefusal(Exception):  # noqa: N818 - as `Refusal`
    """A request to the token endpoint that gets an error of its table as its response.

    `problem` and `remedy` make the description (`messages.message`). `reason` is for the operator,
    where the client must not learn it; by default, it is the problem. So is `client`, the name of
    the client as in the logs, blank if it is not known.
    """

    def __init__(
        self,
        error: OAuthError,
        problem: str,
        remedy: str,
        *,
        headers: Mapping[str, str] | None = None,
        reason: str | None = None,
        client: str = "",
    ) -> None:
        self.message = message(problem, remedy)
        super().__init__(self.message)
        self.error = error
        self.problem = problem
        self.remedy = remedy
        self.headers: Mapping[str, str] = headers or {}
        self.reason = problem if reason is None else reason
        self.client = client


class OperatorError(Exception):
    """A condition that the operator can fix, shown in one line without a traceback.

    `problem` and `remedy` make the message (`messages.message`).
    """

    def __init__(self, problem: str, remedy: str) -> None:
        super().__init__(message(problem, remedy))
        self.problem = problem
        self.remedy = remedy


class UnreachableError(OperatorError):
    """The database cannot be reached; a service that starts waits for it."""
