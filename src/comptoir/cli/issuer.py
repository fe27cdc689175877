"""`comptoir issuer`: add, list, refresh and remove outside issuers."""

from collections.abc import Sequence
from pathlib import Path

import click

from comptoir.auth.fields import guids
from comptoir.auth.issuer_terms import (
    ISSUER_FIELDS,
    check_issuer,
    checked_issuer_name,
    checked_issuer_url,
    policy_of,
)
from comptoir.auth.origins import redirect_uris
from comptoir.auth.records import EVERY_COMPANY, Issuer
from comptoir.cli.options import PATH, options_of, settings_options
from comptoir.cli.runner import operator, store_command, use_store, warn, warn_of_unknown
from comptoir.config import Settings
from comptoir.errors import operator_rows as problems
from comptoir.store.store import Store

NAME = click.argument("name", metavar="NAME", help="The issuer's name.")


@click.group()
def issuer() -> None:
    """Add, list, refresh and remove other issuers, whose tokens the service accepts."""


@issuer.command()
@NAME
@click.argument("url", metavar="URL", help="The `iss` claim of its tokens, which is an https URL.")
@options_of(*ISSUER_FIELDS)
@click.option(
    "--company",
    metavar="GUID",
    multiple=True,
    help="A company that all tokens can access, or '*' for every company. May be repeated.",
)
@click.option(
    "--console-secret-file",
    type=PATH,
    metavar="FILE",
    help="A file with the secret of this client, which every host reads with each login. "
    "Without it, the client is public.",
)
@click.option("--unchecked", is_flag=True, help="Add the issuer without fetching its keys.")
@settings_options("database")
def add(
    settings: Settings,
    *,
    name: str,
    url: str,
    company: Sequence[str],
    console_secret_file: Path | None,
    unchecked: bool,
    **given: object,
) -> None:
    """Trust the tokens of another issuer. Its keys are fetched once, to check it.

    Within two seconds, every service accepts its tokens. Their subjects begin with NAME.
    """
    checked_issuer_name(name)
    checked_issuer_url(url, settings)
    companies = None if tuple(company) == (EVERY_COMPANY,) else tuple(guids(company))
    terms = policy_of(given, companies, console_secret_file)
    if company and terms.companies_claim:
        raise problems.TWO_KINDS_OF_COMPANIES()
    added = Issuer(name, url, terms)

    async def add_to(store: Store) -> None:
        await check_issuer(added, settings, unchecked=unchecked)
        await store.control.add_issuer(added, operator())
        click.echo(f"{name}: added")
        if terms.login is not None:
            click.echo("redirect URI: " + " or ".join(redirect_uris(name, settings)))
        await warn_of_unknown(store, companies or ())

    use_store(settings, add_to)
    if companies == () and not terms.companies_claim:
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
