"""What loading a file costs, beside what the bare driver needs to insert the same rows.

`python bench/loading.py service|driver FOLDER FILE` prints seconds of CPU; a process of its own for
each measurement, so that none warms another up. The driver takes the rows from the database that
the service loaded, in `FOLDER`, and inserts them into a table that the same migration made.
`python bench/loading.py postgres URL FILE` is the service on PostgreSQL, its side alone.
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
    """Load the file into a new database: seconds of CPU, until the store is closed."""
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
    """Insert the rows of a loaded database into a new one: seconds of CPU, until it is closed.

    One transaction and one `executemany`, on a connection of the service's own making: the same
    journal, durability and cache.
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
    """Print the seconds of one way."""
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
