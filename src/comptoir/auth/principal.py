"""The party that a token speaks for, and what it may do."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Self

from comptoir.auth.challenge import insufficient_scope


class Scope(StrEnum):
    """A permission that a token carries, with its meaning in one line (RFC 6749 section 3.3)."""

    meaning: str

    def __new__(cls, value: str, meaning: str) -> Self:
        """Make a member of its value, with its meaning beside it."""
        member = str.__new__(cls, value)
        member._value_ = value
        member.meaning = meaning
        return member

    RECORDS_READ = "records.read", "Read the records of the companies that the token reaches."
    RECORDS_WRITE = "records.write", "Create, update and delete those records; not read them."
    ADMIN = "admin", "Everything that the other scopes allow, and the administration."


def scope_names(text: str) -> list[str]:
    """The names in a list of scopes, separated by U+0020 alone (RFC 6749 section 3.3)."""
    return [name for name in text.split(" ") if name]


@dataclass(frozen=True, slots=True)
class Principal:
    """Who asks: `subject` as the token names it, its scopes, and the companies that it reaches.

    `companies` holds ids as lower-case Guid text; None means every company, an empty set none.
    """

    subject: str
    scopes: frozenset[str]
    companies: frozenset[str] | None

    def may(self, scope: Scope) -> bool:
        """Return whether the scopes allow what `scope` allows; `admin` implies every scope."""
        return scope in self.scopes or Scope.ADMIN in self.scopes

    def reaches(self, company_id: str) -> bool:
        """Return whether `company_id`, as lower-case Guid text, is among the companies."""
        return self.companies is None or company_id in self.companies


def require(principal: Principal, scope: Scope) -> None:
    """Return if the principal may do what `scope` allows.

    Raises a Refusal (403, challenge `insufficient_scope`, RFC 6750 section 3.1) if not.
    """
    if not principal.may(scope):
        raise insufficient_scope(scope)
