"""`comptoir issuer`: add, list, refresh and remove outside issuers."""

from pathlib import Path
from typing import Annotated

import typer

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
from comptoir.auth.records import EVERY_COMPANY, Issuer, IssuerTerms
from comptoir.auth.verification import check_algorithms
from comptoir.cli import options
from comptoir.cli.help import Command, Group
from comptoir.cli.runner import (
    database_settings,
    need_database,
    opened,
    operator,
    run,
    warn,
    warn_of_missing,
)
from comptoir.config import Settings
from comptoir.errors import OperatorError

Name = Annotated[str, typer.Argument(metavar="NAME", help="The issuer's name.")]
Url = Annotated[
    str,
    typer.Argument(metavar="URL", help="The `iss` claim of its tokens, which is an https URL."),
]
Audience = Annotated[
    str, typer.Option("--audience", help="The `aud` claim of the tokens for this service.")
]
Algorithms = Annotated[
    str,
    typer.Option("--algorithms", help="The accepted signature algorithms, separated by commas."),
]
ScopeClaim = Annotated[
    str, typer.Option("--scope-claim", help="The claim with the scopes of a token.")
]
RolesClaim = Annotated[
    str,
    typer.Option(
        "--roles-claim",
        help="The claim with other values to map. A path such as realm_access.roles leads into "
        "objects.",
    ),
]
Mapped = Annotated[
    list[str] | None,
    typer.Option(
        "--map",
        metavar="VALUE=ROLE",
        help="A value of these claims, and the role or scope that it gives. May be repeated; "
        "other values give nothing.",
        show_default=False,
    ),
]
CompaniesClaim = Annotated[
    str,
    typer.Option(
        "--companies-claim",
        metavar="CLAIM",
        help="The claim with the ids of the companies that a token can access.",
        show_default=False,
    ),
]
Companies = Annotated[
    list[str] | None,
    typer.Option(
        "--company",
        metavar="GUID",
        help="A company that all tokens can access, or '*' for every company. May be repeated.",
        show_default=False,
    ),
]
Required = Annotated[
    list[str] | None,
    typer.Option(
        "--require",
        metavar="CLAIM=VALUE",
        help="A claim that a token must have, with this value. May be repeated.",
        show_default=False,
    ),
]
ConsoleClient = Annotated[
    str,
    typer.Option(
        "--console-client-id",
        metavar="ID",
        help="The client as which the issuer knows the console, for logins of people.",
        show_default=False,
    ),
]
ConsoleSecret = Annotated[
    Path | None,
    typer.Option(
        "--console-secret-file",
        metavar="FILE",
        help="A file with the secret of this client, which every host reads with each login. "
        "Without it, the client is public.",
        show_default=False,
    ),
]
ConsoleRoles = Annotated[
    list[str] | None,
    typer.Option(
        "--console-role",
        metavar="VALUE=ROLE",
        help="A value of the roles claim in ID tokens, and what it makes of a user: viewer, editor "
        "or admin. May be repeated; users without such a value cannot log in.",
        show_default=False,
    ),
]
ConsoleScopes = Annotated[
    list[str] | None,
    typer.Option(
        "--console-scope",
        metavar="SCOPE",
        help="A scope that the console asks for beside openid, such as one without which ID tokens "
        "lack the roles claim. May be repeated.",
        show_default=False,
    ),
]
Unchecked = Annotated[
    bool, typer.Option("--unchecked", help="Add the issuer without fetching its keys.")
]

app = typer.Typer(
    name="issuer",
    help="Add, list, refresh and remove other issuers, whose tokens the service accepts.",
    cls=Group,
    rich_markup_mode=None,
    add_completion=False,
)


@app.command(cls=Command)
def add(  # noqa: PLR0913 - an option each
    name: Name,
    url: Url,
    *,
    audience: Audience,
    algorithms: Algorithms = "RS256",
    scope_claim: ScopeClaim = "scope",
    roles_claim: RolesClaim = "roles",
    mapped: Mapped = None,
    companies_claim: CompaniesClaim = "",
    company: Companies = None,
    require: Required = None,
    console_client_id: ConsoleClient = "",
    console_secret_file: ConsoleSecret = None,
    console_role: ConsoleRoles = None,
    console_scope: ConsoleScopes = None,
    unchecked: Unchecked = False,
    database: options.Database = None,
    config: options.Config = None,
) -> None:
    """Trust the tokens of another issuer. Its keys are fetched once, to check it.

    Within two seconds, every service accepts its tokens. Their subjects begin with NAME.
    """
    settings = database_settings(database, config)
    checked_issuer_name(name)
    checked_issuer_url(url, settings)
    accepted = tuple(each.strip() for each in algorithms.split(","))
    check_algorithms(accepted)
    companies = _companies(company, companies_claim)
    scopes, roles = targets_of(mapped or ())
    terms = IssuerTerms(
        audience=audience,
        algorithms=accepted,
        scope_claim=scope_claim,
        roles_claim=roles_claim,
        scopes=scopes,
        roles=roles,
        companies_claim=companies_claim,
        companies=companies,
        required=dict(map(required_claim, require or ())),
        console=console_terms(
            console_client_id,
            console_secret_file,
            console_roles(console_role or ()),
            console_scopes(console_scope or ()),
        ),
    )
    need_database(settings)
    run(lambda: _add(settings, Issuer(name, url, terms), unchecked=unchecked))
    typer.echo(f"{name}: added")
    if terms.console is not None:
        typer.echo("redirect URI: " + " or ".join(redirect_uris(name, settings)))
    if companies:
        # the company may be created later
        run(lambda: warn_of_missing(settings, companies))
    elif companies is not None and not companies_claim:
        warn(
            f"the tokens of {name} can access no company. Remove the issuer, and add it with "
            "--company or --companies-claim."
        )


@app.command("list", cls=Command)
def list_issuers(*, database: options.Database = None, config: options.Config = None) -> None:
    """List the issuers by name, one on each line, with the options that they were added with."""
    settings = database_settings(database, config)
    need_database(settings)
    for each in run(lambda: _all(settings)):
        typer.echo(" ".join([each.name, each.url, *each.terms.listed]))


@app.command(cls=Command)
def refresh(
    name: Name, *, database: options.Database = None, config: options.Config = None
) -> None:
    """Let every service fetch the keys of an issuer with the next request that needs them."""
    settings = database_settings(database, config)
    need_database(settings)
    run(lambda: _refresh(settings, name))
    typer.echo(f"{name}: refreshed")


@app.command(cls=Command)
def remove(name: Name, *, database: options.Database = None, config: options.Config = None) -> None:
    """Remove an issuer. Within two seconds, every service refuses its tokens."""
    settings = database_settings(database, config)
    need_database(settings)
    run(lambda: _remove(settings, name))
    typer.echo(f"{name}: removed")


def _companies(given: list[str] | None, claim: str) -> tuple[str, ...] | None:
    """The ids of companies; None for every company."""
    if given and claim:
        raise OperatorError(
            "the options --company and --companies-claim exclude each other", "Use one of them."
        )
    return None if given == [EVERY_COMPANY] else tuple(options.guids(given))


async def _add(settings: Settings, issuer: Issuer, *, unchecked: bool) -> None:
    await check_issuer(issuer, settings, unchecked=unchecked)
    async with opened(settings) as store:
        await store.control.add_issuer(issuer, operator())


async def _all(settings: Settings) -> list[Issuer]:
    async with opened(settings) as store:
        return await store.control.issuers()


async def _refresh(settings: Settings, name: str) -> None:
    async with opened(settings) as store:
        await store.control.refresh_issuer(name, operator())


async def _remove(settings: Settings, name: str) -> None:
    async with opened(settings) as store:
        await store.control.remove_issuer(name, operator())
