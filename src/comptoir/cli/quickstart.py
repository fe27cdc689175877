"""`comptoir serve --quickstart`: a sample company, and commands to try the service with."""

import shlex
import socket
from datetime import timedelta
from http.client import HTTPConnection, HTTPException
from threading import Thread
from urllib.parse import urljoin
from uuid import uuid4

import msgspec
import typer

from comptoir.auth import Scope, token_issuer
from comptoir.catalog import MODEL
from comptoir.cli.company import company_named
from comptoir.cli.runner import opened, run, warn
from comptoir.cli.sample import SAMPLE_NAME, fill
from comptoir.config import Settings
from comptoir.plan.read import Bounds, CountPlan, all_records
from comptoir.samples import SampleSize

_LAST_FILLED = "salesPricesExt"
_TOKEN_LIVES = timedelta(hours=24)
_PATIENCE_SECONDS = 60


class Contact(msgspec.Struct):
    """The properties of a contact that the printed commands use."""

    id: str
    tag: str = msgspec.field(name="@odata.etag")


class _Contacts(msgspec.Struct):
    value: list[Contact]


def sample_company_id(settings: Settings) -> str:
    """The id of the sample company in an up-to-date database; creates it on first use."""
    return run(lambda: _find_or_fill(settings), resumes=True)


async def _find_or_fill(settings: Settings) -> str:
    async with opened(settings) as store:
        company = await company_named(store, SAMPLE_NAME)
        if company is None:
            typer.echo(f"Creating the company {SAMPLE_NAME}, on first use.")
            company = await store.create_company(str(uuid4()), SAMPLE_NAME)
        # the last table is empty if the load was interrupted, which then resumes
        last = CountPlan(all_records(MODEL.by_name[_LAST_FILLED]), Bounds(company))
        if not await store.count(last):
            await fill(store, company, SampleSize.SMALL)
        return company.id


def announce(settings: Settings, listener: socket.socket, company_id: str) -> None:
    """Print commands to try, as soon as the service on the socket responds."""
    address = listener.getsockname()
    token = token_issuer(settings).issue(
        "quickstart", (Scope.RECORDS_READ, Scope.RECORDS_WRITE), [company_id], _TOKEN_LIVES
    )
    Thread(
        target=_announce,
        args=(settings, _reachable(str(address[0])), int(address[1]), company_id, token),
        name="comptoir-quickstart",
        daemon=True,
    ).start()


def _reachable(host: str) -> str:
    return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - to, not on


def _announce(settings: Settings, host: str, port: int, company_id: str, token: str) -> None:
    contacts = f"/companies({company_id})/contactsExt"
    # the socket already listens: the response comes when the service has started
    connection = HTTPConnection(host, port, timeout=_PATIENCE_SECONDS)
    try:
        connection.request(
            "GET",
            f"{settings.base_path}{contacts}?$top=1",
            headers={"Authorization": f"Bearer {token}"},
        )
        found = msgspec.json.decode(connection.getresponse().read(), type=_Contacts)
    except (OSError, HTTPException, msgspec.DecodeError) as fault:
        warn(f"the service does not respond: {fault}. See its log.")
        return
    finally:
        connection.close()
    typer.echo(f"Documentation: {urljoin(settings.base_url, '/docs')}\n")
    typer.echo("Paste this into another terminal. The token is valid for 24 hours.")
    typer.echo(f"export TOKEN={token}")
    typer.echo(f"BASE={shlex.quote(settings.base_url)}")
    typer.echo(f"COMPANY={company_id}")
    typer.echo('AUTH="Authorization: Bearer $TOKEN"')
    for contact in found.value:
        typer.echo(commands(contact))


def commands(contact: Contact) -> str:
    """Shell commands that read a contact, and update it if it still has its entity tag."""
    if_match = shlex.quote(f"If-Match: {contact.tag}")
    return rf"""CONTACT="$BASE/companies($COMPANY)/contactsExt({contact.id})"
curl -sS -w '\n' -H "$AUTH" "$CONTACT"
curl -sS -w '\n' -X PATCH -H "$AUTH" "$CONTACT" -H {if_match} \
  -H 'Content-Type: application/json' -d '{{"displayName": "Renamed by curl"}}'"""
