"""`comptoir serve --quickstart`: a sample company, and commands to try the service with."""

import shlex
import sys
from pathlib import Path
from uuid import uuid4

import click

from comptoir.auth.logins import ConsoleRole, Login
from comptoir.auth.origins import serves_console
from comptoir.cli.console import account, console_link
from comptoir.cli.runner import use_store
from comptoir.cli.sample import SAMPLE_NAME, fill, sample_files
from comptoir.config import Settings, environment_name
from comptoir.plan.read import Bounds, CountPlan, all_records
from comptoir.store.store import Store

_OF_TOKENS = ("keys", "token_issuer", "token_audience")
"""The settings that `comptoir token` reads."""
_WIDTH = 100
"""The most characters of a line."""


def sample_company_id(settings: Settings) -> str:
    """The id of the sample company in an up-to-date database; creates it on first use."""
    return use_store(settings, _find_or_fill, resumes=True)


async def _find_or_fill(store: Store) -> str:
    names = await store.company_names()
    found = [each for each, name in names.items() if name == SAMPLE_NAME]
    company = await store.company(found[0]) if found else None
    if company is None:
        click.echo(f"Creating the company {SAMPLE_NAME}, on first use.")
        company = await store.create_company(str(uuid4()), SAMPLE_NAME)
    # the last table is empty if the load was interrupted, which then resumes
    *_, last = sample_files()
    if not await store.count(CountPlan(all_records(last), Bounds(company))):
        await fill(store, company)
    return company.id


def announce(settings: Settings, company_id: str) -> None:
    """Print a link to the console, and commands to try.

    The socket listens already, so the commands wait until the service has started.
    """
    if serves_console(settings) and not settings.refuses_writes:
        login = Login(account(), ConsoleRole.ADMIN, None)
        click.echo(f"Console: {console_link(settings, login, settings.console_url)}")
    click.echo(f"Company: {SAMPLE_NAME} {company_id}")
    click.echo("Paste this into another terminal:")
    for line in commands(settings, company_id):
        click.echo(line)


def commands(settings: Settings, company_id: str) -> list[str]:
    """Shell commands that get a token, list a contact and change another one, in any folder."""
    here = shlex.quote(f"{settings.base_url}/companies({company_id})")
    curl = 'curl -sSw \'\\n\' -H "Authorization: Bearer $TOKEN" "$HERE'
    city = """-H 'Content-Type: application/json' -d '{"city": "Bremen"}'"""
    return [
        *_token_command(settings),
        f"HERE={here}",
        f'{curl}/contactsExt?\\$top=1"',
        f"{curl}/contactsExt(number='CT000001')\" \\",
        f"  -X PATCH -H 'If-Match: *' {city}",
    ]


def _token_command(settings: Settings) -> list[str]:
    """Lines that export a token of the service's keys; a second one if the first is too long."""
    folder = Path.cwd()
    variables = [
        f"{environment_name(name)}={shlex.quote(str(getattr(settings, name)))}"
        for name in _OF_TOKENS
        if getattr(settings, name) != getattr(Settings(), name)
    ]
    issue = " ".join([*variables, _program(folder), "token"])
    enter = f"export TOKEN=$(cd {shlex.quote(str(folder))} &&"
    line = f"{enter} {issue})"
    return [line] if len(line) <= _WIDTH else [enter, f"  {issue})"]


def _program(folder: Path) -> str:
    """The command that runs this program within a folder."""
    started = Path(sys.argv[0]).absolute()
    if started.name != "comptoir":
        return f"{shlex.quote(sys.executable)} -m comptoir"
    path = started.relative_to(folder) if started.is_relative_to(folder) else started
    return shlex.quote(str(path))
