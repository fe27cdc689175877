"""What is taken from a client is refused soon, also while heavy reads use all that reads have."""

from contextlib import ExitStack
from pathlib import Path

from process.test_computing_long import company_with_long_texts
from process.test_condition import metric
from process.test_fair_reads import RUNNING, begun_heavy_read, server
from support.clients import add_client
from support.databases import run_sql
from support.server import Server
from support.waiting import until

__all__ = ["server"]

PARTIES, READS = 4, 4
"""Clients with long reads and the reads of each, so that another follows each that ends."""

MANY_REVOKED = """\
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
INSERT INTO revoked SELECT 'token-' || i, 4102444800 FROM n
"""


def test_a_disabled_client_is_refused_while_all_long_reads_run(
    server: Server, tmp_path: Path
) -> None:
    """The clients are read beside them, even if they are too many for the event loop."""
    run_sql(server.settings.database, MANY_REVOKED)
    webshop, kept = add_client(server, tmp_path), add_client(server, tmp_path)
    token = webshop.token()
    company = company_with_long_texts(server)
    with ExitStack() as stack:
        for number in range(PARTIES):
            party = company.using(server.tokens.issue(subject=f"party-{number}"))
            for _ in range(READS):
                begun_heavy_read(stack, server, party)
        permits = metric(server, "comptoir_scan_threads")
        until(lambda: metric(server, RUNNING) == permits or None, "as many long reads as possible")

        assert server.client.using(token).get("companies").status_code == 200
        webshop.command.done("client", "disable", webshop.name)

        def is_refused() -> bool | None:
            return server.client.using(token).get("companies").status_code == 401 or None

        until(is_refused, "a refusal")
        assert server.client.using(kept.token()).get("companies").status_code == 200
        assert metric(server, RUNNING) == permits
