"""The principal of a token, and the checks of its scopes and companies."""

from dataclasses import dataclass, field

from comptoir.auth.limits import Account
from comptoir.auth.roles import Rights
from comptoir.auth.tokens import Scope
from comptoir.errors import refusal_rows as rows
from comptoir.errors.refusal import refuse


@dataclass(frozen=True, slots=True)
class Principal:
    """The subject of a token, with its scopes and the companies that it can access.

    `companies` contains ids as lower-case Guids; None means every company, an empty set none.
    `rights` are those of its roles, which scopes bound; None for a client without roles, which may
    do what its scopes allow. `account` counts what a client uses of its limits; None for a token
    that is not a client's.
    """

    subject: str
    scopes: frozenset[str]
    companies: frozenset[str] | None
    rights: Rights | None = None
    account: Account | None = field(default=None, compare=False)

    def may(self, scope: Scope) -> bool:
        """Whether the principal has the scope; `admin` implies every scope."""
        return scope in self.scopes or Scope.ADMIN in self.scopes

    def reaches(self, company_id: str) -> bool:
        """Whether the principal reaches the company with this id, a lower-case Guid."""
        return self.companies is None or company_id in self.companies


def require(principal: Principal, scope: Scope) -> None:
    """Raise `Refusal` (403, challenge `insufficient_scope`) if the principal lacks the scope."""
    if not principal.may(scope):
        raise refuse(rows.SCOPE_MISSING, scope=scope)
