"""`comptoir issuer`: add, list, refresh and remove outside issuers."""

from collections.abc import Sequence
from pathlib import Path

import click

from comptoir import operator_rows as problems
from comptoir.auth.issuer_terms import (
    check_issuer,
    checked_issuer_name,
    checked_issuer_url,
    console_roles,
    console_scopes,
    console_terms,
    required_claim,
    targets_of,
)
from comptoir.auth.origins import redirect_uris
from comptoir.auth.records import EVERY_COMPANY, Issuer, IssuerPolicy
from comptoir.auth.verification import check_algorithms
from comptoir.cli.options import PATH, guids, settings_options
from comptoir.cli.runner import (
    need_database,
    operator,
    run,
    store_command,
    use_store,
    warn,
    warn_of_missing,
)
from comptoir.config import Settings
from comptoir.store.store import Store

NAME = click.argument("name", metavar="NAME", help="The issuer's name.")


@click.group()
def issuer() -> None:
    """Add, list, refresh and remove other issuers, whose tokens the service accepts."""


@issuer.command()
@NAME
@click.argument("url", metavar="URL", help="The `iss` claim of its tokens, which is an https URL.")
@click.option("--audience", required=True, help="The `aud` claim of the tokens for this service.")
@click.option(
    "--algorithms",
    default="RS256",
    help="The accepted signature algorithms, separated by commas.",
)
@click.option("--scope-claim", default="scope", help="The claim with the scopes of a token.")
@click.option(
    "--roles-claim",
    default="roles",
    help="The claim with other values to map. A path such as realm_access.roles leads into "
    "objects.",
)
@click.option(
    "--map",
    "mapped",
    metavar="VALUE=ROLE",
    multiple=True,
    help="A value of these claims, and the role or scope that it gives. May be repeated; other "
    "values give nothing.",
)
@click.option(
    "--companies-claim",
    metavar="CLAIM",
    default="",
    show_default=False,
    help="The claim with the ids of the companies that a token can access.",
)
@click.option(
    "--company",
    metavar="GUID",
    multiple=True,
    help="A company that all tokens can access, or '*' for every company. May be repeated.",
)
@click.option(
    "--require",
    metavar="CLAIM=VALUE",
    multiple=True,
    help="A claim that a token must have, with this value. May be repeated.",
)
@click.option(
    "--console-client-id",
    metavar="ID",
    default="",
    show_default=False,
    help="The client as which the issuer knows the console, for logins of people.",
)
@click.option(
    "--console-secret-file",
    type=PATH,
    metavar="FILE",
    help="A file with the secret of this client, which every host reads with each login. Without "
    "it, the client is public.",
)
@click.option(
    "--console-role",
    metavar="VALUE=ROLE",
    multiple=True,
    help="A value of the roles claim in ID tokens, and what it makes of a user: viewer, editor or "
    "admin. May be repeated; users without such a value cannot log in.",
)
@click.option(
    "--console-scope",
    metavar="SCOPE",
    multiple=True,
    help="A scope that the console asks for beside openid, such as one without which ID tokens "
    "lack the roles claim. May be repeated.",
)
@click.option("--unchecked", is_flag=True, help="Add the issuer without fetching its keys.")
@settings_options("database")
def add(  # noqa: PLR0913 - an option each
    settings: Settings,
    *,
    name: str,
    url: str,
    audience: str,
    algorithms: str,
    scope_claim: str,
    roles_claim: str,
    mapped: Sequence[str],
    companies_claim: str,
    company: Sequence[str],
    require: Sequence[str],
    console_client_id: str,
    console_secret_file: Path | None,
    console_role: Sequence[str],
    console_scope: Sequence[str],
    unchecked: bool,
) -> None:
    """Trust the tokens of another issuer. Its keys are fetched once, to check it.

    Within two seconds, every service accepts its tokens. Their subjects begin with NAME.
    """
    checked_issuer_name(name)
    checked_issuer_url(url, settings)
    accepted = tuple(each.strip() for each in algorithms.split(","))
    check_algorithms(accepted)
    companies = _companies(company, companies_claim)
    scopes, roles = targets_of(mapped)
    terms = IssuerPolicy(
        audience=audience,
        algorithms=accepted,
        scope_claim=scope_claim,
        roles_claim=roles_claim,
        scopes=scopes,
        roles=roles,
        companies_claim=companies_claim,
        companies=companies,
        required=dict(map(required_claim, require)),
        console=console_terms(
            console_client_id,
            console_secret_file,
            console_roles(console_role),
            console_scopes(console_scope),
        ),
    )
    need_database(settings)
    added = Issuer(name, url, terms)
    run(lambda: check_issuer(added, settings, unchecked=unchecked))
    use_store(settings, lambda store: store.control.add_issuer(added, operator()))
    click.echo(f"{name}: added")
    if terms.console is not None:
        click.echo("redirect URI: " + " or ".join(redirect_uris(name, settings)))
    if companies:
        warn_of_missing(settings, companies)
    elif companies is not None and not companies_claim:
        warn(
            f"the tokens of {name} can access no company. Remove the issuer, and add it with "
            "--company or --companies-claim."
        )


@issuer.command("list")
@store_command
async def list_issuers(store: Store) -> None:
    """List the issuers by name, one on each line, with the options that they were added with."""
    for each in await store.control.issuers():
        click.echo(" ".join([each.name, each.url, *each.terms.listed]))


@issuer.command()
@NAME
@store_command
async def refresh(store: Store, name: str) -> None:
    """Let every service fetch the keys of an issuer with the next request that needs them."""
    await store.control.refresh_issuer(name, operator())
    click.echo(f"{name}: refreshed")


@issuer.command()
@NAME
@store_command
async def remove(store: Store, name: str) -> None:
    """Remove an issuer. Within two seconds, every service refuses its tokens."""
    await store.control.remove_issuer(name, operator())
    click.echo(f"{name}: removed")


def _companies(given: Sequence[str], claim: str) -> tuple[str, ...] | None:
    """The ids of companies; None for every company."""
    if given and claim:
        raise problems.TWO_KINDS_OF_COMPANIES()
    return None if tuple(given) == (EVERY_COMPANY,) else tuple(guids(given))
