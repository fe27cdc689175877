"""`comptoir audit`: the audit log, one line of JSON for each entry."""

from comptoir.auth.audit import AuditEntry
from comptoir.cli import options
from comptoir.cli.ndjson import AT_A_TIME, print_entries, run_printing
from comptoir.cli.runner import database_settings, need_database, opened
from comptoir.config import Settings
from comptoir.errors import OperatorError


def audit(
    *,
    since: options.Since = 0,
    follow: options.Follow = False,
    database: options.Database = None,
    config: options.Config = None,
) -> None:
    """Print the audit log as NDJSON, in the order of the numbers of its entries.

    An entry says who changed a client or a role, revoked a token, or failed to authenticate, when
    and from where. It contains no secret.
    """
    settings = database_settings(database, config)
    need_database(settings)
    run_printing(lambda: _print_audit(settings, since, follow=follow))


async def _print_audit(settings: Settings, since: int, *, follow: bool) -> None:
    async with opened(settings) as store:
        control = store.control
        last = await control.last_audited()
        if since > last:
            raise OperatorError(
                f"the audit log ends at entry {last}, before --since {since}: entries were lost, "
                "as after a restore",
                "Start again with --since 0.",
            )

        async def read(since: int) -> list[AuditEntry]:
            return await control.audit(since, AT_A_TIME)

        await print_entries(read, since, follow=follow)
