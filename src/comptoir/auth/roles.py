"""Roles and the rights that they give to records, and the principal of a token, which has them."""

import tomllib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from msgspec import Struct

from comptoir.auth.limits import Account
from comptoir.auth.tokens import Scope
from comptoir.errors import operator_rows as problems
from comptoir.errors import refusal_rows as rows
from comptoir.errors.messages import quoted, suggestion

OTHERS = "*"
"""The entity sets that a role does not name."""

MOST_NAME = 64
"""Characters of the name of a role."""

_MOST_COMBINATIONS = 1_000
"""The combinations of roles whose rights are kept; tokens of other issuers choose them."""


class Right(StrEnum):
    """A right on records that a role gives; the value is its letter in a roles file."""

    READ = "R"
    INSERT = "I"
    MODIFY = "M"
    DELETE = "D"


class Role(Struct, frozen=True):
    """A role: the letters of its rights by entity set, `OTHERS` included."""

    name: str
    letters: Mapping[str, str]

    @property
    def listed(self) -> str:
        """The letters for each entity set, as the operator reads them."""
        return " ".join([f"{name}={letters}" for name, letters in self.letters.items()])

    def allows(self, right: Right, entity_set: str) -> bool:
        """Whether the role gives a right to the records of an entity set."""
        letters = self.letters.get(entity_set)
        return right in (self.letters.get(OTHERS, "") if letters is None else letters)


Rights = Mapping[Right, frozenset[str]]
"""The names of the entity sets to whose records a principal has each right."""


class Roles:
    """The roles of a service; what some of them give together is computed once.

    `sets` are the names of the entity sets to which roles give rights.
    """

    def __init__(self, roles: Iterable[Role], sets: Iterable[str]) -> None:
        self._roles = {each.name: each for each in roles}
        self._sets = tuple(sets)
        self._rights: dict[frozenset[str], Rights] = {}

    def rights_of(self, names: frozenset[str] | None) -> Rights | None:
        """Each right that one of the named roles gives; None if they do not restrict (None)."""
        if names is None:
            return None
        found = self._rights.get(names)
        if found is None:
            roles = [self._roles[each] for each in names if each in self._roles]
            found = {
                right: frozenset(each for each in self._sets if _gives(roles, right, each))
                for right in Right
            }
            if len(self._rights) < _MOST_COMBINATIONS:
                self._rights[names] = found
        return found


def _gives(roles: Iterable[Role], right: Right, entity_set: str) -> bool:
    return any(each.allows(right, entity_set) for each in roles)


def parse_roles(text: str, sets: Collection[str]) -> list[Role]:
    """The roles of a file; `sets` are the names of the entity sets that it may contain.

    Raises `OperatorError` for a file that is not TOML, an invalid name of a role, an unknown entity
    set, and letters other than those of `Right`.
    """
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise problems.INVALID_ROLES(reason=error) from error
    return [checked_role(name, table, sets) for name, table in tables.items()]


def checked_role(name: str, table: object, sets: Collection[str]) -> Role:
    """A role with the letters of a table; raises `OperatorError` as `parse_roles` does."""
    if not isinstance(table, dict):
        raise problems.OUTSIDE_A_ROLE(name=quoted(name))
    if not name or len(name) > MOST_NAME or not name.isprintable() or " " in name:
        raise problems.INVALID_ROLE_NAME(name=quoted(name), most=MOST_NAME)
    for entity_set, letters in table.items():
        if entity_set != OTHERS and entity_set not in sets:
            raise problems.UNKNOWN_ENTITY_SET(
                suggested=suggestion(entity_set, sets), role=name, name=quoted(entity_set)
            )
        is_valid = isinstance(letters, str) and set(letters) <= set(Right)
        if not is_valid or len(set(letters)) < len(letters):
            raise problems.INVALID_RIGHTS(role=name, entity_set=entity_set)
    return Role(name, table)


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
        raise rows.SCOPE_MISSING(scope=scope)
