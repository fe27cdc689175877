"""`comptoir changes`: the change log, one line of JSON for each change."""

from collections.abc import Sequence

import click
import msgspec

from comptoir.cli import options
from comptoir.cli.ndjson import AT_A_TIME, print_entries
from comptoir.cli.runner import known_company, store_command
from comptoir.errors import operator_rows as problems
from comptoir.store.store import Store


class _Line(msgspec.Struct, frozen=True, rename="camel"):
    number: int
    entity_set: str
    record: str
    verb: str
    at: str
    by: str


@click.command()
@options.COMPANY
@options.SINCE
@options.FOLLOW
@store_command
async def changes(store: Store, company_id: str, since: int, follow: bool) -> None:
    """Print a company's change log as NDJSON, in the order of the change numbers.

    A change names the record and the operation, not the record's content. With `--follow`, a
    renewal of the company ends the command with an error.
    """
    company = await known_company(store, company_id)
    last = await store.position(company)
    if since > last:
        raise problems.CHANGE_LOG_ENDS(company=company_id, last=last, since=since)

    async def read(since: int) -> Sequence[_Line]:
        if await known_company(store, company_id) != company:
            raise problems.COMPANY_RENEWED(company=company_id)
        found = await store.changes(company, since, AT_A_TIME)
        return [_Line(*msgspec.structs.astuple(each)) for each in found]

    await print_entries(read, since, follow=follow)
