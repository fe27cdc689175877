"""Acknowledged writes survive crashes and stops of the database server."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from process.test_durability import check_log, check_work
from support.databases import migrated
from support.postgres import Postgres
from support.server import Server
from support.writers import Work, Writers


def test_crashes_and_stops_of_the_database_lose_no_acknowledged_write(tmp_path: Path) -> None:
    """Each time after some acknowledged writes; the service recovers without a restart.

    Every acknowledged write is stored; a write that got 503 is stored completely or not at all.
    """
    with (
        Postgres(durable=True) as postgres,
        Server.over(lambda *_: migrated(postgres), tmp_path) as server,
    ):
        company = server.new_company()
        done: list[Work] = []
        ends: Sequence[Callable[[], None]] = (
            *(postgres.kill, postgres.kill),
            *(partial(postgres.stop, "fast"), partial(postgres.stop, "immediate")),
        )
        for number, end in enumerate(ends):
            writers = Writers(company, 6, f"after {number}: ")
            writers.tally.wait_for(60 if number else 1)
            end()
            done += writers.join()
            postgres.start()
            for work in done:
                check_work(company, work)
            check_log(company)
