"""`comptoir changes`: the change log, one line of JSON for each change."""

import asyncio
import os
import select
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated

import msgspec
import typer

from comptoir.cli import options
from comptoir.cli.runner import (
    database_settings,
    known_company,
    need_database,
    opened,
    run,
)
from comptoir.config import Settings, environment_name
from comptoir.errors import OperatorError
from comptoir.store.ledger import Change

POLL_SECONDS = 0.5
"""Seconds between two reads of `--follow`."""

_AT_A_TIME = 1_000


def changes(
    *,
    company: options.Company,
    since: Annotated[
        int,
        typer.Option(
            "--since",
            min=0,
            metavar="N",
            envvar=environment_name("since"),
            help="Start after the change with this number.",
        ),
    ] = 0,
    follow: Annotated[
        bool,
        typer.Option(
            "--follow",
            envvar=environment_name("follow"),
            help="Wait for further changes until interrupted.",
        ),
    ] = False,
    database: options.Database = None,
    config: options.Config = None,
) -> None:
    """Print a company's change log as NDJSON, in the order of the change numbers.

    A change names the record and the operation, not the record's content. With `--follow`, a
    renewal of the company ends the command with an error.
    """
    settings = database_settings(database, config)
    company_id = options.guid(company)
    need_database(settings)
    try:
        run(lambda: _print_changes(settings, company_id, since, follow=follow))
    except BrokenPipeError:
        # the reader has closed the pipe, so nothing reads the rest of the buffer
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


async def _print_changes(settings: Settings, company_id: str, since: int, *, follow: bool) -> None:
    async with opened(settings) as store:
        company = await known_company(store, company_id)
        last = await store.position(company)
        if since > last:
            raise OperatorError(
                f"the change log of the company {company_id} ends at change {last}, before --since "
                f"{since}: changes were lost, as after a restore",
                "Start again with --since 0.",
            )
        with suppress(asyncio.CancelledError):
            while True:
                found = await store.changes(company, since, _AT_A_TIME)
                if found:
                    _print(found)
                    since = found[-1].number
                elif not follow or _reader_is_gone():
                    return
                else:
                    await asyncio.sleep(POLL_SECONDS)
                    if await known_company(store, company_id) != company:
                        raise OperatorError(
                            f"the company {company_id} was renewed, since its database may have "
                            "lost changes",
                            "Start again with --since 0.",
                        )


def _print(found: Sequence[Change]) -> None:
    for change in found:
        line = {
            "number": change.number,
            "entitySet": change.entity_set,
            "record": change.record,
            "verb": change.verb,
            "at": change.at,
            "by": change.by,
        }
        sys.stdout.buffer.write(msgspec.json.encode(line) + b"\n")
        sys.stdout.buffer.flush()


def _reader_is_gone() -> bool:
    """Whether the other end of the pipe is closed; checked before a write would fail."""
    poll = select.poll()
    poll.register(sys.stdout.fileno(), 0)
    return any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))
