"""What binding an expression refuses, with the place where it stands."""

from collections.abc import Iterable

from comptoir import refusals
from comptoir.errors import INVALID_URL, NOT_IMPLEMENTED, Refusal
from comptoir.messages import suggestion


def misused(option: str, position: int, message: str) -> Refusal:
    """400: an expression that does not fit the kind, at an offset of its text."""
    return Refusal(INVALID_URL, f"{option}, column {position + 1}: {message}", target=option)


def unsupported(option: str, position: int, construct: str) -> Refusal:
    """501: valid OData that is not supported, by its name."""
    return Refusal(
        NOT_IMPLEMENTED,
        f"{option}, column {position + 1}: {construct} is not supported. Ask without it.",
        target=option,
    )


def no_further(option: str, position: int, name: str, path: str) -> Refusal:
    """400: a path that goes on behind a property, which is a plain value."""
    message = f"{name[:100]} is a value without parts, so {path[:100]} leads nowhere."
    return misused(option, position, message)


def unknown_name(option: str, position: int, name: str, what: str, known: Iterable[str]) -> Refusal:
    """400: a name that nothing has, with the nearest that something has."""
    message = f"{name[:100]} is no {what}. {suggestion(name, known)}"
    return misused(option, position, message.rstrip())


def past_value(option: str, position: int, name: str, path: str) -> Refusal:
    """400: a path that continues after a property, which is a primitive value."""
    problem = f"{name[:100]} has no properties, so the path {path[:100]} does not exist"
    return refusals.misused(option, position, problem, f"End the path with {name[:100]}.")
