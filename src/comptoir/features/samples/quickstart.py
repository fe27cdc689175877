"""`comptoir serve --quickstart`: a sample company, and commands to try the service with."""

import shlex
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from uuid import uuid4

import click

from comptoir.cli.runner import use_store
from comptoir.config import Settings, environment_name
from comptoir.features.samples.command import SAMPLE_NAME, fill, sample_files
from comptoir.plan.read import Bounds, CountPlan, all_records
from comptoir.store.store import Store

_OF_TOKENS = ("keys", "token_issuer", "token_audience")
"""The settings that `comptoir token` reads."""
_WIDTH = 100
"""The most characters of a line."""


def prepared(settings: Settings) -> Callable[[Settings], None]:
    """Create the sample company in an up-to-date database on first use.

    Returns what prints its id, and commands to try, when the service listens.
    """
    company_id = use_store(settings, find_or_fill, resumes=True)
    return partial(announce, company_id=company_id)


async def find_or_fill(store: Store) -> str:
    """The id of the sample company, which is created on first use."""
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
    """Print commands to try.

    The socket listens already, so the commands wait until the service has started.
    """
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
