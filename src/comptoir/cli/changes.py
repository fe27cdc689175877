"""`comptoir changes`: the change log, one line of JSON for each change."""

from collections.abc import Sequence

import click
import msgspec

from comptoir.cli import options
from comptoir.cli.ndjson import AT_A_TIME, print_entries
from comptoir.cli.runner import known_company, store_command
from comptoir.errors import OperatorError
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
        raise OperatorError(
            f"the change log of the company {company_id} ends at change {last}, before --since "
            f"{since}: changes were lost, as after a restore",
            "Start again with --since 0.",
        )

    async def read(since: int) -> Sequence[_Line]:
        if await known_company(store, company_id) != company:
            raise OperatorError(
                f"the company {company_id} was renewed, since its database may have lost changes",
                "Start again with --since 0.",
            )
        found = await store.changes(company, since, AT_A_TIME)
        return [_Line(*msgspec.structs.astuple(each)) for each in found]

    await print_entries(read, since, follow=follow)
