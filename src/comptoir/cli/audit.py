"""`comptoir audit`: the audit log, one line of JSON for each entry."""

import click

from comptoir.auth.audit import AuditEntry
from comptoir.cli import options
from comptoir.cli.ndjson import AT_A_TIME, print_entries
from comptoir.cli.runner import store_command
from comptoir.errors import operator_rows as problems
from comptoir.store.store import Store


@click.command()
@options.SINCE
@options.FOLLOW
@store_command
async def audit(store: Store, since: int, follow: bool) -> None:
    """Print the audit log as NDJSON, in the order of the numbers of its entries.

    An entry says who changed a client or a role, revoked a token, or failed to authenticate, when
    and from where. It contains no secret.
    """
    last = await store.control.last_audited()
    if since > last:
        raise problems.AUDIT_LOG_ENDS(last=last, since=since)

    async def read(since: int) -> list[AuditEntry]:
        return await store.control.audit(since, AT_A_TIME)

    await print_entries(read, since, follow=follow)
