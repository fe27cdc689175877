"""`comptoir token`: issue a bearer token."""

import re
from datetime import timedelta
from pathlib import Path

import click

from comptoir.auth.fields import parse_scopes, token_companies
from comptoir.auth.keys import SIGNING_KEY_FILE
from comptoir.auth.tokens import Scope, token_issuer
from comptoir.cli.options import checked, option_or_variable, settings_options
from comptoir.config import Settings
from comptoir.errors import operator_rows as problems
from comptoir.errors.messages import message, quoted

_TTL = re.compile(r"(\d{1,9})([smhd])", re.ASCII)
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
_UNUSED = (
    "Its new key signed this token, which a service with other keys refuses. Run the command in "
    "the folder of the service, or name its keys with --keys."
)


def parse_ttl(text: str) -> timedelta:
    """A lifetime such as 90s, 15m, 1h or 30d; raises `OperatorError` if it is invalid."""
    match = _TTL.fullmatch(text)
    if match is None or not int(match[1]):
        raise problems.INVALID_TTL(text=quoted(text))
    return timedelta(**{_UNITS[match[2]]: int(match[1])})


@click.command()
@option_or_variable(
    "--scope",
    "scopes",
    default="records.read records.write",
    callback=checked(parse_scopes),
    help=f"The scopes of the token, separated by spaces: {', '.join(Scope)}.",
)
@option_or_variable(
    "--company",
    "companies",
    metavar="GUID",
    multiple=True,
    callback=checked(token_companies),
    help="A company that the token can access. May be repeated; by default, all companies.",
)
@option_or_variable(
    "--ttl",
    default="1h",
    callback=checked(parse_ttl),
    help="The lifetime of the token: a number and s, m, h or d, such as 90s or 30d.",
)
@option_or_variable(
    "--subject",
    metavar="NAME",
    default="comptoir token",
    help="The owner of the token, for the change log and the request log.",
)
@settings_options("keys", "database")
def token(
    settings: Settings,
    scopes: list[Scope],
    companies: frozenset[str] | None,
    ttl: timedelta,
    subject: str,
) -> None:
    """Issue a bearer token, and print it on the last line.

    The token is signed with the service's own key, which is created on first use.
    """
    folder = Path(settings.keys)
    is_unused = not any(folder.glob(f"{SIGNING_KEY_FILE.removesuffix('.pem')}*"))
    issued = token_issuer(settings).issue(subject, scopes, companies, ttl)
    if is_unused:
        click.echo(
            f"WARNING: {message(f'no service has used the keys in {folder}', _UNUSED)}", err=True
        )
    click.echo(issued)
    if companies:
        from comptoir.cli.runner import warn_of_missing  # noqa: PLC0415 - brings SQLAlchemy

        warn_of_missing(settings, companies)
