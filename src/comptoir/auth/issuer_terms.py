"""The decisions of an operator about outside issuers, by the command or by a form."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from comptoir.auth.fields import Field, checked_name
from comptoir.auth.issuers import OPENID, RESERVED_NAMES, fetch_keys, login_endpoints
from comptoir.auth.origins import client_issuers
from comptoir.auth.records import ConsoleRole, Issuer, IssuerPolicy, LoginPolicy
from comptoir.auth.tokens import Scope
from comptoir.auth.verification import check_algorithms
from comptoir.config import Settings
from comptoir.errors import operator_rows as problems
from comptoir.errors.messages import quoted
from comptoir.outgoing import OutgoingError

_SCOPE = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]{1,200}")

Targets = tuple[Mapping[str, tuple[Scope, ...]], Mapping[str, tuple[str, ...]]]
"""The scopes and the roles that values are mapped to."""


def checked_issuer_name(name: str) -> str:
    """A name of an issuer; raises `OperatorError` for one that other parties have."""
    if checked_name(name, "an issuer").lower() in RESERVED_NAMES:
        raise problems.RESERVED_NAME(name=name)
    return name


def checked_issuer_url(url: str, settings: Settings) -> str:
    """The `iss` of an issuer; raises `OperatorError` for that of this service."""
    if url == settings.token_issuer or url in client_issuers(settings):
        raise problems.OWN_URL(url=quoted(url))
    return url


def _targets(pairs: Iterable[str]) -> Targets:
    """The mapping of values, each written as VALUE=ROLE; raises `OperatorError`."""
    scopes: dict[str, tuple[Scope, ...]] = {}
    roles: dict[str, tuple[str, ...]] = {}
    for each in pairs:
        # a value may be a URL with parameters
        value, _, target = each.rpartition("=")
        if not (value and target):
            raise problems.INVALID_MAPPING(text=quoted(each))
        if target in list(Scope):
            scopes[value] = (*scopes.get(value, ()), Scope(target))
        else:
            roles[value] = (*roles.get(value, ()), target)
    return scopes, roles


def _required(pairs: Iterable[str]) -> Mapping[str, str]:
    """The claims that a token must have, each written as CLAIM=VALUE; raises `OperatorError`."""
    found: dict[str, str] = {}
    for each in pairs:
        claim, _, value = each.partition("=")
        if not (claim and value):
            raise problems.INVALID_CLAIM(text=quoted(each))
        found[claim] = value
    return found


def _algorithms(text: str) -> tuple[str, ...]:
    accepted = tuple(each.strip() for each in text.split(","))
    check_algorithms(accepted)
    return accepted


def _console_roles(pairs: Iterable[str]) -> Mapping[str, ConsoleRole]:
    """The roles of users by values, each written as VALUE=ROLE; raises `OperatorError`."""
    roles: dict[str, ConsoleRole] = {}
    for each in pairs:
        value, _, role = each.rpartition("=")
        if not value or role not in list(ConsoleRole):
            raise problems.INVALID_CONSOLE_ROLE(text=quoted(each), roles=" or ".join(ConsoleRole))
        if value in roles:
            raise problems.TWO_CONSOLE_ROLES(value=quoted(value))
        roles[value] = ConsoleRole(role)
    return roles


def _console_scopes(names: Iterable[str]) -> tuple[str, ...]:
    """The scopes that a login asks for beside `openid`; raises `OperatorError`."""
    given = dict.fromkeys(names)
    for each in given:
        if _SCOPE.fullmatch(each) is None:
            raise problems.INVALID_LOGIN_SCOPE(scope=quoted(each))
    return tuple(each for each in given if each != OPENID)


def _login_policy(
    client_id: str,
    secret_file: Path | None,
    roles: Mapping[str, ConsoleRole],
    scopes: tuple[str, ...],
) -> LoginPolicy | None:
    """The login of people; None if nobody logs in.

    Raises `OperatorError` for a part without the others that it needs.
    """
    if not (client_id or roles or scopes) and secret_file is None:
        return None
    if not client_id or not roles:
        raise problems.INCOMPLETE_LOGIN()
    if secret_file is not None and not secret_file.is_file():
        raise problems.NO_SECRET_FILE(path=secret_file)
    # not resolved: another secret comes with another target of a symbolic link
    file = str(secret_file.absolute()) if secret_file else ""
    return LoginPolicy(client_id, file, roles, scopes)


# fmt: off
AUDIENCE = Field("audience", "The `aud` claim of the tokens for this service.", str,
    is_required=True)
ALGORITHMS = Field("algorithms", "The accepted signature algorithms, separated by commas.",
    _algorithms, "RS256")
SCOPE_CLAIM = Field("scope-claim", "The claim with the scopes of a token.", str, "scope")
ROLES_CLAIM = Field("roles-claim", "The claim with other values to map. A path such as "
    "realm_access.roles leads into objects.", str, "roles")
MAPPINGS = Field("map", "A value of these claims, and the role or scope that it gives. Other "
    "values give nothing.", _targets, metavar="VALUE=ROLE", separator="\n")
COMPANIES_CLAIM = Field("companies-claim", "The claim with the ids of the companies that a token "
    "can access.", str, metavar="CLAIM")
REQUIRED = Field("require", "A claim that a token must have, with this value.", _required,
    metavar="CLAIM=VALUE", separator="\n")
CONSOLE_CLIENT = Field("console-client-id", "The client as which the issuer knows this "
    "service, for logins of people.", str, metavar="ID")
CONSOLE_ROLES = Field("console-role", "A value of the roles claim in ID tokens, and what it makes "
    "of a user: viewer, editor or admin. Users without such a value cannot log in.",
    _console_roles, metavar="VALUE=ROLE", separator="\n")
CONSOLE_SCOPES = Field("console-scope", "A scope that logins ask for beside openid, such as "
    "one without which ID tokens lack the roles claim.", _console_scopes, metavar="SCOPE",
    separator=" ")
ISSUER_FIELDS = (AUDIENCE, ALGORITHMS, SCOPE_CLAIM, ROLES_CLAIM, MAPPINGS, COMPANIES_CLAIM,
    REQUIRED, CONSOLE_CLIENT, CONSOLE_ROLES, CONSOLE_SCOPES)
# fmt: on


def policy_of(
    given: Mapping[str, object], companies: tuple[str, ...] | None, secret_file: Path | None
) -> IssuerPolicy:
    """The policy of an issuer by its fields; raises `OperatorError`.

    Only the command names a file with a secret: another admin could make the service send
    any file of its host to an issuer.
    """
    scopes, roles = MAPPINGS.of(given)
    return IssuerPolicy(
        audience=AUDIENCE.of(given),
        algorithms=ALGORITHMS.of(given),
        scope_claim=SCOPE_CLAIM.of(given),
        roles_claim=ROLES_CLAIM.of(given),
        scopes=scopes,
        roles=roles,
        companies_claim=COMPANIES_CLAIM.of(given),
        companies=companies,
        required=REQUIRED.of(given),
        login=_login_policy(
            CONSOLE_CLIENT.of(given), secret_file, CONSOLE_ROLES.of(given), CONSOLE_SCOPES.of(given)
        ),
    )


async def check_issuer(issuer: Issuer, settings: Settings, *, unchecked: bool) -> None:
    """Fetch the keys of an issuer once; `unchecked` checks its address alone.

    Raises `OperatorError` if that fails.
    """
    from comptoir.outgoing.session import Guard, Outgoing  # noqa: PLC0415 - brings aiohttp

    try:
        if unchecked:
            Guard().checked(issuer.url)
        else:
            fetch = Outgoing(Guard(settings.networks)).fetch
            fetched = await fetch_keys(issuer.url, fetch)
            if issuer.terms.login is not None:
                login_endpoints(issuer.url, fetched.document)
    except OutgoingError as error:
        raise problems.ISSUER_NOT_ADDED(reason=error) from error
