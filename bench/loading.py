"""The cost of loading a file, and of inserting the same rows with the bare driver.

`python bench/loading.py service|driver FOLDER FILE` prints CPU seconds. Each measurement is a
process of its own, so that none warms up another. The driver reads the rows from the database that
the service loaded in `FOLDER`, and inserts them into a table that the same migration created.
`python bench/loading.py postgres URL FILE` measures the service on PostgreSQL only.
"""

import asyncio
import sys
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time

from company import CUSTOMERS, add_company, database_file, load, settings_in

from comptoir.app import open_store
from comptoir.catalog import MODEL
from comptoir.config import Settings
from comptoir.store.migration import migrate
from comptoir.store.sqlite.connection import connect


async def by_service(folder: Path, file: Path) -> float:
    """Load the file into a new database; returns CPU seconds until the store is closed."""
    settings = settings_in(folder)
    migrate(settings, MODEL)
    return await _loaded(settings, file)


async def _loaded(settings: Settings, file: Path) -> float:
    store = open_store(settings)
    company = await add_company(store)
    before = process_time()
    report = await load(store, company, CUSTOMERS, file)
    await store.close()
    used = process_time() - before
    if report.refused or not report.inserted:
        raise ValueError(f"{file} was not loaded: {report.faults[:1]}")
    return used


def by_driver(folder: Path, source: Path) -> float:
    """Insert the rows of a loaded database into a new one; returns CPU seconds until it is closed.

    It uses one transaction and one `executemany`, on a connection that the service's own code
    opens, with the same journal, durability and cache.
    """
    settings = settings_in(folder)
    migrate(settings, MODEL)
    with closing(connect(source, writes=False, lock_seconds=5)) as loaded:
        rows = loaded.execute(f'SELECT * FROM "{CUSTOMERS}"').fetchall()
    connection = connect(database_file(settings), writes=True, lock_seconds=5)
    places = ", ".join("?" * len(rows[0]))
    before = process_time()
    connection.execute("BEGIN IMMEDIATE")
    connection.executemany(f'INSERT INTO "{CUSTOMERS}" VALUES ({places})', rows)
    connection.execute("COMMIT")
    connection.close()
    return process_time() - before


def main(way: str, place: str, file: Path) -> None:
    """Print the seconds of one of the three."""
    if way == "postgres":
        print(asyncio.run(_loaded(Settings(database=place), file)))
        return
    with TemporaryDirectory(dir=place) as fresh:
        if way == "service":
            print(asyncio.run(by_service(Path(fresh), file)))
        else:
            print(by_driver(Path(fresh), database_file(settings_in(Path(place)))))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
