"""What an operator enters, by options of a command and by fields of forms: clients, and checks."""

import re
import secrets
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar
from uuid import uuid4

from msgspec.structs import replace

from comptoir.auth.limits import DAY, parse_rate
from comptoir.auth.records import Client, ClientState, Secret, secret_digest
from comptoir.auth.tokens import MOST_COMPANIES, MOST_ROLES, Scope, scope_names
from comptoir.edm.types import is_guid
from comptoir.errors import operator_rows as problems
from comptoir.errors.messages import quoted

T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Field(Generic[T_co]):
    """A value, or several: an option is repeated then, and `separator` divides those of a form.

    `parse` converts the text, or the texts of several values; it raises `OperatorError`.
    """

    name: str
    help: str
    parse: Callable[..., T_co]
    default: str = ""
    metavar: str | None = None
    separator: str = ""
    is_required: bool = False
    part: str = ""
    """The part of the client that it sets, if it is not named like the field."""

    @property
    def hint(self) -> str:
        """The help in a form, which shows it as it is."""
        several = {
            "\n": f" Write {self.metavar} on each line.",
            " ": " Separate several by spaces.",
        }
        return self.help.replace("`", "") + several.get(self.separator, "")

    @property
    def key(self) -> str:
        """The name of the option as an argument of the command."""
        return self.part or self.name.replace("-", "_")

    def of(self, given: Mapping[str, object]) -> T_co:
        """The parsed value among the options of a command; raises `OperatorError`."""
        return self.parse(given[self.key] or "")


LONGEST_DAYS = 3_650
"""The most days for which a secret or a key is valid."""

USUAL_DAYS = 180
"""The days for which a secret or a key is valid by default."""

LARGEST_QUOTA = 10**15
"""The most records of a quota."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", re.ASCII)


def number(low: int, high: int) -> Callable[[str], int]:
    """A parser of whole numbers; it raises `OperatorError` for others."""

    def parse(text: str) -> int:
        if not (text.isascii() and text.isdigit() and len(text) <= len(str(high))) or not (
            low <= int(text) <= high
        ):
            raise problems.INVALID_NUMBER(text=quoted(text), low=low, high=high)
        return int(text)

    return parse


def parse_scopes(text: str) -> list[Scope]:
    """Scopes from their names; raises `OperatorError` for an unknown one, or if there is none."""
    names, known = set(scope_names(text)), " ".join(Scope)
    for name in sorted(names):
        if name not in set(Scope):
            raise problems.UNKNOWN_SCOPE(name=quoted(name), scopes=known)
    if not names:
        raise problems.NO_SCOPE(scopes=known)
    return [each for each in Scope if each in names]


def checked_name(text: str, of: str) -> str:
    """A name for use in subjects and logs; raises `OperatorError` if it is not valid."""
    if _NAME.fullmatch(text) is None:
        raise problems.INVALID_NAME(name=quoted(text), of=of)
    return text


def checked_roles(names: Collection[str]) -> frozenset[str]:
    """The names of a client's roles; raises `OperatorError` for too many."""
    roles = frozenset(names)
    if len(roles) > MOST_ROLES:
        raise problems.TOO_MANY_ROLES(count=len(roles), most=MOST_ROLES)
    return roles


def guid(text: str) -> str:
    """A company id in lower case; raises `OperatorError` if it is not a Guid."""
    if not is_guid(text):
        raise problems.INVALID_COMPANY_ID(text=quoted(text))
    return text.lower()


def guids(texts: Iterable[str]) -> list[str]:
    """Company ids in lower case, each once; raises `OperatorError` for an invalid one."""
    return list(dict.fromkeys([guid(each) for each in texts]))


def token_companies(texts: Iterable[str]) -> frozenset[str]:
    """The companies of a token; raises `OperatorError` for too many."""
    companies = frozenset(guids(texts))
    if len(companies) > MOST_COMPANIES:
        raise problems.TOO_MANY_COMPANIES(count=len(companies), most=MOST_COMPANIES)
    return companies


# fmt: off
SCOPES = Field("scope", "The scopes that the client may have, separated by spaces.",
    lambda text: frozenset(parse_scopes(text)), part="scopes")
ROLES = Field("role", "A role of the client. Without one, it may do what its scopes allow.",
    checked_roles, metavar="ROLE", separator="\n", part="roles")
COMPANIES = Field("company", "A company that the client can access; by default, all companies.",
    token_companies, metavar="GUID", separator="\n", part="companies")
RATE = Field("rate", "The most requests in a time, such as 6000/300s; without it, any number.",
    parse_rate, metavar="RATE")
QUOTA = Field("quota", "The most records that the client may read in a day of UTC; without it, "
    "any number.", number(1, LARGEST_QUOTA), metavar="NUMBER")
CLIENT_FIELDS = (SCOPES, ROLES, COMPANIES, RATE, QUOTA)
# fmt: on


def new_client(name: str, days: int | None, **terms: object) -> tuple[Client, str]:
    """An active client with an id of its own, and the text of its secret.

    The secret is valid for some days; None for a client without one, and for no text. `terms` are
    parts of the client by name.
    """
    added = () if days is None else (secret_for(days),)
    given, id = tuple(secret for secret, _ in added), str(uuid4())
    client = Client(id, name, frozenset(), None, None, ClientState.ACTIVE, given)
    return replace(client, **terms), "".join([text for _, text in added])


def client_terms(given: Mapping[str, object]) -> dict[str, object]:
    """The parts of a client that options set; raises `OperatorError` for one that is not valid."""
    return {
        each.key: each.parse(given[each.key])
        for each in CLIENT_FIELDS
        if given[each.key] not in (None, ())
    }


def secret_for(days: int) -> tuple[Secret, str]:
    """A secret of 256 random bits that is valid for some days from now, and its text."""
    text, ends = secrets.token_urlsafe(32), int(time.time()) + days * DAY
    return Secret(secrets.token_hex(8), secret_digest(text), text[:4], ends), text


def changes_listed(changes: Mapping[str, object]) -> str:
    """The changed parts of a client in the audit log."""
    return " ".join([f"{field}={_shown(value)}" for field, value in changes.items()])


def _shown(value: object) -> str:
    return ",".join(sorted(value)) if isinstance(value, frozenset) else str(value or "any")
