"""The claims of an access token (RFC 7519 section 4.1, RFC 9068 section 2.2)."""

from typing import Annotated
from uuid import UUID

from msgspec import UNSET, Meta, Struct, UnsetType

# The upper bound is the last second of the year 9999: it keeps out milliseconds, and whatever a
# date cannot show.
NumericDate = Annotated[float, Meta(ge=0, le=253_402_300_799)]
Subject = Annotated[str, Meta(min_length=1, max_length=255)]


class Claims(Struct, frozen=True, kw_only=True):
    """What a token says; times are seconds since 1970 in UTC (NumericDate, RFC 7519 section 2).

    A claim that is UNSET is absent, and null is not the same as absent: a `companies` of null is
    refused, where an absent one means every company.
    """

    iss: str
    aud: str | list[str]
    sub: Subject
    exp: NumericDate
    scope: str
    iat: NumericDate | UnsetType = UNSET
    nbf: NumericDate | UnsetType = UNSET
    jti: str | UnsetType = UNSET
    companies: list[UUID] | UnsetType = UNSET

    def __post_init__(self) -> None:
        # The subject goes into logs and the change record.
        if not self.sub.isprintable():
            raise ValueError("`sub` holds characters that do not print")
