"""`comptoir audit` and `comptoir changes`: the logs, one line of JSON for each entry."""

import asyncio
import os
import select
import sys
from collections.abc import Awaitable, Callable, Sequence

import click
import msgspec

from comptoir.auth.audit import AuditEntry
from comptoir.cli import options
from comptoir.cli.runner import known_company, store_command
from comptoir.errors import operator_rows as problems
from comptoir.store.ledger import Change
from comptoir.store.store import Store

POLL_SECONDS = 0.5
"""Seconds between two reads of `--follow`."""

AT_A_TIME = 1_000
"""The most entries of a read."""


_Entries = Sequence[Change | AuditEntry]


async def _print_entries(
    read: Callable[[int], Awaitable[_Entries]], since: int | None, last: int, *, follow: bool
) -> None:
    """Print the entries after a number, which `read` returns from there, in order.

    `last` is the number of the last one. With `follow`, wait for further ones until cancelled, or
    until the reader closes the pipe. Raises `OperatorError` if some are not there any more.
    """
    if since is not None and since > last:
        raise problems.LOG_ENDS(last=last, since=since)
    try:
        while True:
            found = await read(since or 0)
            if found and since is not None and found[0].number > since + 1:
                raise problems.LOG_BEGINS(oldest=found[0].number, since=since)
            if found:
                for entry in found:
                    sys.stdout.buffer.write(msgspec.json.encode(entry) + b"\n")
                    sys.stdout.buffer.flush()
                since = found[-1].number
            elif not follow or _reader_is_gone():
                return
            else:
                await asyncio.sleep(POLL_SECONDS)
    except asyncio.CancelledError:
        return
    except BrokenPipeError:
        # nothing reads the rest of the buffer
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _reader_is_gone() -> bool:
    """Whether the other end of the pipe is closed; checked before a write would fail."""
    poll = select.poll()
    poll.register(sys.stdout.fileno(), 0)
    return any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))


@click.command()
@options.COMPANY
@options.SINCE
@options.FOLLOW
@store_command
async def changes(store: Store, company_id: str, since: int | None, follow: bool) -> None:
    """Print a company's change log as NDJSON, in the order of the change numbers.

    A change names the record and the operation, not the record's content. With `--follow`, a
    renewal of the company ends the command with an error.
    """
    company = await known_company(store, company_id)

    async def read(since: int) -> _Entries:
        if await known_company(store, company_id) != company:
            raise problems.COMPANY_RENEWED(company=company_id)
        return await store.changes(company, since, AT_A_TIME)

    await _print_entries(read, since, await store.position(company), follow=follow)


@click.command()
@options.SINCE
@options.FOLLOW
@store_command
async def audit(store: Store, since: int | None, follow: bool) -> None:
    """Print the audit log as NDJSON, in the order of the numbers of its entries.

    An entry says who changed a client or a role, revoked a token, or failed to authenticate, when
    and from where. It contains no secret.
    """

    async def read(since: int) -> _Entries:
        return await store.control.audit(since, AT_A_TIME)

    await _print_entries(read, since, await store.control.last_audited(), follow=follow)
