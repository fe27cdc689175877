"""Refusals that several stations raise, so that the same fault has the same words everywhere.

`target` is the name of a query option, header or property, as the client wrote it. `position` is
an offset in the text of a query option; the message has it as a column, counted from 1.
"""

from collections.abc import Iterable

from comptoir.errors import (
    BAD_REQUEST,
    INVALID_URL,
    METHOD_NOT_ALLOWED,
    NOT_IMPLEMENTED,
    UNAVAILABLE,
    ErrorType,
    Refusal,
)
from comptoir.messages import quoted, suggestion


def _column(position: int | None) -> int | None:
    return None if position is None else position + 1


def misused(target: str, position: int, problem: str, remedy: str) -> Refusal:
    """400: a part of a query option that is not valid where it is."""
    return Refusal(INVALID_URL, problem, remedy, target=target, column=position + 1)


def unsupported(
    construct: str,
    target: str | None = None,
    position: int | None = None,
    *,
    remedy: str = "Send the request without it.",
) -> Refusal:
    """501: valid OData that the service does not support. `construct` begins the sentence."""
    problem = f"{construct} is not supported"
    return Refusal(NOT_IMPLEMENTED, problem, remedy, target=target, column=_column(position))


def unknown_name(
    owner: str,
    what: str,
    name: str,
    known: Iterable[str],
    target: str | None = None,
    position: int | None = None,
    *,
    remedy: str = "Use a name from $metadata.",
    error: ErrorType = INVALID_URL,
) -> Refusal:
    """400: a name that `owner` does not have; `what` is a noun such as `property`.

    The nearest known name is suggested; without one, `remedy` says what to do.
    """
    problem = f"{owner} has no {what} {quoted(name)}"
    remedy = suggestion(name, known) or remedy
    return Refusal(error, problem, remedy, target=target, column=_column(position))


def past_value(target: str, position: int, name: str, path: str) -> Refusal:
    """400: a path that continues after a property, which is a primitive value."""
    problem = f"{name[:100]} has no properties, so the path {path[:100]} does not exist"
    return misused(target, position, problem, f"End the path with {name[:100]}.")


def inapplicable(target: str, resource: str, remedy: str = "Remove it.") -> Refusal:
    """400: a query option that the resource does not have, such as `$top` of `a single record`."""
    return Refusal(INVALID_URL, f"{target} does not apply to {resource}", remedy, target=target)


def invalid_value(
    name: str,
    sent: str,
    remedy: str,
    *,
    error: ErrorType = BAD_REQUEST,
    target: str | None = None,
    position: int | None = None,
) -> Refusal:
    """A value that a header, option or property does not accept; `target` is `name` by default."""
    problem = f"Invalid value {quoted(sent)} for {name}"
    target, column = name if target is None else target, _column(position)
    return Refusal(error, problem, remedy, target=target, column=column)


def limit_exceeded(
    subject: str,
    limit: int,
    unit: str,
    remedy: str,
    *,
    error: ErrorType = INVALID_URL,
    target: str | None = None,
    position: int | None = None,
) -> Refusal:
    """A request that asks for more than a limit allows. `subject` begins the sentence."""
    problem = f"{subject} exceeds the limit of {limit} {unit}"
    return Refusal(error, problem, remedy, target=target, column=_column(position))


def given_twice(
    name: str,
    *,
    error: ErrorType = INVALID_URL,
    target: str | None = None,
    position: int | None = None,
) -> Refusal:
    """A name that a request has twice; `target` is `name` by default."""
    remedy = "Send it once."
    target, column = name if target is None else target, _column(position)
    return Refusal(error, f"{name} is given twice", remedy, target=target, column=column)


def method_not_allowed(method: str, resource: str, allowed: str) -> Refusal:
    """405; `allowed` lists the methods, separated by commas."""
    return Refusal(
        METHOD_NOT_ALLOWED,
        f"{method[:20]} is not allowed on {resource}",
        f"Allowed: {allowed}.",
        headers={"Allow": allowed},
    )


def stopping() -> Refusal:
    """503 for a request that the service does not finish because it stops."""
    return Refusal(
        UNAVAILABLE,
        "The service stopped before it finished this request",
        "Nothing was changed. Send the request again.",
        headers={"Retry-After": "5"},
    )
