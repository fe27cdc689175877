"""The decisions of an operator about outside issuers, by the command or in the console."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from comptoir import operator_rows as problems
from comptoir.auth.client_terms import checked_name
from comptoir.auth.code_flow import OPENID, login_discovery
from comptoir.auth.issuer_keys import fetch_keys
from comptoir.auth.issuers import RESERVED_NAMES
from comptoir.auth.logins import ConsoleRole
from comptoir.auth.origins import client_issuers
from comptoir.auth.records import ConsoleLogin, Issuer
from comptoir.auth.tokens import Scope
from comptoir.config import Settings
from comptoir.messages import quoted
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


def targets_of(pairs: Iterable[str]) -> Targets:
    """The mapping of values, each written as VALUE=ROLE; raises `OperatorError`."""
    scopes: dict[str, tuple[Scope, ...]] = {}
    roles: dict[str, tuple[str, ...]] = {}
    named = {str(each): each for each in Scope}
    for each in pairs:
        # a value may be a URL with parameters
        value, _, target = each.rpartition("=")
        if not (value and target):
            raise problems.INVALID_MAPPING(text=quoted(each))
        scope = named.get(target)
        if scope is None:
            roles[value] = (*roles.get(value, ()), target)
        else:
            scopes[value] = (*scopes.get(value, ()), scope)
    return scopes, roles


def required_claim(text: str) -> tuple[str, str]:
    """A claim, and the value that it must have; raises `OperatorError`."""
    claim, _, value = text.partition("=")
    if not (claim and value):
        raise problems.INVALID_CLAIM(text=quoted(text))
    return claim, value


def console_roles(pairs: Iterable[str]) -> Mapping[str, ConsoleRole]:
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


def console_scopes(names: Iterable[str]) -> tuple[str, ...]:
    """The scopes that the console asks for beside `openid`; raises `OperatorError`."""
    given = dict.fromkeys(names)
    for each in given:
        if _SCOPE.fullmatch(each) is None:
            raise problems.INVALID_LOGIN_SCOPE(scope=quoted(each))
    return tuple(each for each in given if each != OPENID)


def console_terms(
    client_id: str,
    secret_file: Path | None,
    roles: Mapping[str, ConsoleRole],
    scopes: tuple[str, ...],
) -> ConsoleLogin | None:
    """The login of users to the console; None if nobody logs in.

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
    return ConsoleLogin(client_id, file, roles, scopes)


async def check_issuer(issuer: Issuer, settings: Settings, *, unchecked: bool) -> None:
    """Fetch the keys of an issuer once; `unchecked` checks its address alone.

    Raises `OperatorError` if that fails.
    """
    from comptoir.outgoing.guard import Guard  # noqa: PLC0415 - brings aiohttp
    from comptoir.outgoing.session import Fetcher  # noqa: PLC0415 - brings aiohttp

    try:
        if unchecked:
            Guard().checked(issuer.url)
        else:
            fetch = Fetcher(Guard(settings.networks)).fetch
            await fetch_keys(issuer.url, fetch)
            if issuer.terms.console is not None:
                await login_discovery(issuer.url, fetch)
    except OutgoingError as error:
        raise problems.ISSUER_NOT_ADDED(reason=error) from error
