"""`comptoir token`: issue a bearer token."""

import re
from datetime import timedelta
from pathlib import Path
from typing import Annotated

import typer

from comptoir.auth import Scope, scope_names, token_issuer
from comptoir.auth.key_folder import SIGNING_KEY_FILE
from comptoir.cli import options
from comptoir.config import environment_name, load_settings
from comptoir.errors import OperatorError
from comptoir.messages import message, quoted

_TTL = re.compile(r"(\d{1,9})([smhd])", re.ASCII)
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
_SCOPES = " ".join(Scope)
_UNUSED = (
    "Its new key signed this token, which a service with other keys refuses. Run the command in "
    "the folder of the service, or name its keys with --keys."
)


def token(
    *,
    scope: Annotated[
        str,
        typer.Option(
            "--scope",
            envvar=environment_name("scope"),
            help=f"The scopes of the token, separated by spaces: {', '.join(Scope)}.",
        ),
    ] = "records.read records.write",
    company: Annotated[
        list[str] | None,
        typer.Option(
            "--company",
            metavar="GUID",
            envvar=environment_name("company"),
            help="A company that the token can access. May be repeated; by default, all companies.",
            show_default=False,
        ),
    ] = None,
    ttl: Annotated[
        str,
        typer.Option(
            "--ttl",
            envvar=environment_name("ttl"),
            help="The lifetime of the token: a number and s, m, h or d, such as 90s or 30d.",
        ),
    ] = "1h",
    subject: Annotated[
        str,
        typer.Option(
            "--subject",
            metavar="NAME",
            envvar=environment_name("subject"),
            help="The owner of the token, for the change log and the request log.",
        ),
    ] = "comptoir token",
    keys: options.Keys = None,
    database: options.Database = None,
    config: options.Config = None,
) -> None:
    """Issue a bearer token, and print it on the last line.

    The token is signed with the service's own key, which is created on first use.
    """
    settings = load_settings({"keys": keys, "database": database, "config": config})
    scopes = parse_scopes(scope)
    companies = options.token_companies(company)
    lifetime = parse_ttl(ttl)
    folder = Path(settings.keys)
    is_unused = not any(folder.glob(f"{SIGNING_KEY_FILE.removesuffix('.pem')}*"))
    issued = token_issuer(settings).issue(subject, scopes, companies, lifetime)
    if is_unused:
        typer.echo(
            f"WARNING: {message(f'no service has used the keys in {folder}', _UNUSED)}", err=True
        )
    typer.echo(issued)
    if companies:
        from comptoir.cli.runner import run, warn_of_missing  # noqa: PLC0415 - brings SQLAlchemy

        # the company may be created later
        run(lambda: warn_of_missing(settings, companies))


def parse_scopes(text: str) -> list[Scope]:
    """Scopes from their names; raises `OperatorError` for an unknown one, or if there is none."""
    names = set(scope_names(text))
    for name in sorted(names):
        if name not in set(Scope):
            raise OperatorError(
                f"invalid --scope {quoted(name)}", f"Use one or more of: {_SCOPES}."
            )
    if not names:
        raise OperatorError("a token needs a scope", f"Use some of: {_SCOPES}.")
    return [each for each in Scope if each in names]


def parse_ttl(text: str) -> timedelta:
    """A lifetime such as 90s, 15m, 1h or 30d; raises `OperatorError` if it is invalid."""
    match = _TTL.fullmatch(text)
    if match is None or not int(match[1]):
        raise OperatorError(
            f"invalid --ttl {quoted(text)}", "Use a number and s, m, h or d, such as 90s, 15m, 1h."
        )
    return timedelta(**{_UNITS[match[2]]: int(match[1])})
