"""Refusals that every database raises in the same words."""

from collections.abc import Iterable

from comptoir.errors import (
    INVALID_URL,
    KEY_EXISTS,
    NOT_IMPLEMENTED,
    TOO_MANY_REQUESTS,
    UNAVAILABLE,
    Refusal,
)
from comptoir.sql.tables import COMPANY_ID


def duplicate(columns: Iterable[str]) -> Refusal:
    """409 after the database found the same values of these columns in another row."""
    names = ", ".join(name for name in columns if name != COMPANY_ID) or "id"
    return Refusal(
        KEY_EXISTS,
        f"Another record has the same {names}, which must be unique",
        "Send other values, or update that record.",
        target=names,
    )


def too_many_reads(waiting: int) -> Refusal:
    """429 if this many long reads wait for a thread or connection."""
    return Refusal(
        TOO_MANY_REQUESTS,
        f"{waiting} long reads are already waiting",
        "Send the request again after 5 seconds.",
        headers={"Retry-After": "5"},
    )


def too_slow(seconds: float) -> Refusal:
    """503 for a read that was stopped after this many seconds."""
    return Refusal(
        UNAVAILABLE,
        f"The query took longer than {seconds:g} s",
        "Narrow the filter, or sort by the key.",
        headers={"Retry-After": "5"},
    )


def not_computable(cause: str) -> Refusal:
    """400 for a query whose result is undefined, or too large for its type."""
    return Refusal(
        INVALID_URL,
        f"The query cannot be computed: {cause.removesuffix('.')}",
        "Change the expression, or exclude the records with such values.",
    )


def too_complex() -> Refusal:
    """501 for an expression that exceeds a limit of the database."""
    return Refusal(
        NOT_IMPLEMENTED,
        "The expression is too large for the database",
        "Split the query into smaller ones.",
    )
