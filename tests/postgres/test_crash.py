"""Acknowledged writes survive crashes and stops of the database server."""

from pathlib import Path

import pytest

from comptoir.config import Settings
from postgres.conftest import migrated
from process.test_durability import check_log, check_work
from support.effort import IN_CI
from support.postgres import Postgres
from support.server import Server
from support.writers import Work, Writers


def test_kills_of_the_database_lose_no_acknowledged_write(tmp_path: Path) -> None:
    """The server is killed repeatedly, each time after some acknowledged writes.

    The service recovers without a restart. Every acknowledged write is stored; a write that got 503
    is stored completely or not at all.
    """
    with Postgres(durable=True) as postgres:
        settings = Settings(database=migrated(postgres), keys=str(tmp_path / "keys"))
        with Server(settings, tmp_path) as server:
            company = server.new_company()
            done: list[Work] = []
            for number, acknowledged in enumerate((1, 40, 150) if IN_CI else (1, 60)):
                writers = Writers(company, 6, f"after {number}: ")
                writers.tally.wait_for(acknowledged)
                postgres.kill()
                done += writers.join()
                postgres.start()
                for work in done:
                    check_work(company, work)
                check_log(company)


@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_stops_of_the_database_lose_no_acknowledged_write(tmp_path: Path, mode: str) -> None:
    with Postgres(durable=True) as postgres:
        settings = Settings(database=migrated(postgres), keys=str(tmp_path / "keys"))
        with Server(settings, tmp_path) as server:
            company = server.new_company()
            writers = Writers(company, 6)
            writers.tally.wait_for(100)
            postgres.stop("fast" if mode == "fast" else "immediate")
            done = writers.join()
            postgres.start()
            for work in done:
                check_work(company, work)
            check_log(company)
