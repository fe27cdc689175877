"""The cost of loading a file, and of inserting the same rows with the bare driver.

`python bench/loading.py service|driver FOLDER FILE` prints CPU seconds. Each measurement is a
process of its own, so that none warms up another. The driver parses the same file, and inserts the
rows that the service stored for it, in the database of `FOLDER`, into tables that the same
migration created, in the order of the file. `python bench/loading.py postgres URL FILE` measures
the service on PostgreSQL only.
"""

import asyncio
import csv
import sys
from contextlib import closing
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time

from company import CUSTOMERS, add_company, database_file, load, settings_in

from comptoir.app import open_store
from comptoir.catalog import MODEL
from comptoir.config import Settings
from comptoir.features.transfer.files import ROWS_PER_CHUNK
from comptoir.store.migration import migrate
from comptoir.store.snapshot import CHANGES
from comptoir.store.sqlite.connection import Connection, connect
from comptoir.store.sqlite.store import MANY_WRITES


async def by_service(folder: Path, file: Path) -> float:
    """Load the file into a new database; returns CPU seconds until the store is closed."""
    settings = settings_in(folder)
    migrate(settings, MODEL)
    return await _loaded(settings, file)


async def _loaded(settings: Settings, file: Path) -> float:
    store = open_store(settings, writes_many=True)
    company = await add_company(store)
    before = process_time()
    report = await load(store, company, CUSTOMERS, file)
    await store.close()
    used = process_time() - before
    if report.refused or not report.inserted:
        raise ValueError(f"{file} was not loaded: {report.errors[:1]}")
    return used


def by_driver(folder: Path, file: Path, source: Path) -> float:
    """Parse the file, and insert its rows; returns CPU seconds until the database is closed.

    The rows are those of the records and of the change log in a loaded database, read before. A
    transaction has as many as one of the service's, on a connection that the service's own code
    opens, with the same journal, durability and cache.
    """
    settings = settings_in(folder)
    migrate(settings, MODEL)
    with file.open(encoding="utf-8", newline="") as text:
        place = {row["number"]: at for at, row in enumerate(csv.DictReader(text))}
    with closing(connect(source, writes=False, lock_seconds=5)) as loaded:
        loaded.create_scalar_function("place", lambda *number: place[str(*number)], 1)
        stored = {
            f'INSERT INTO "{table}" VALUES ({_places(loaded, table)})': loaded.execute(
                f'SELECT * FROM "{table}" WHERE {condition} ORDER BY {order}'
            ).fetchall()
            for table, condition, order in (
                (CUSTOMERS, "true", "place(number)"),
                (CHANGES, f"entity_set = '{CUSTOMERS}'", "number"),
            )
        }
    connection = connect(database_file(settings), writes=True, lock_seconds=5)
    for name, value in MANY_WRITES.items():
        connection.execute(f"PRAGMA {name}={value}")
    before = process_time()
    with file.open(encoding="utf-8", newline="") as text:
        parsed = csv.reader(text)
        next(parsed)
        done = 0
        while cells := list(islice(parsed, ROWS_PER_CHUNK)):
            connection.execute("BEGIN IMMEDIATE")
            for insert, rows in stored.items():
                connection.executemany(insert, rows[done : done + len(cells)])
            connection.execute("COMMIT")
            done += len(cells)
    connection.close()
    return process_time() - before


def _places(database: Connection, table: str) -> str:
    columns = database.execute(f'PRAGMA table_info("{table}")').fetchall()
    return ", ".join("?" * len(columns))


def main(way: str, place: str, file: Path) -> None:
    """Print the seconds of one of the three."""
    if way == "postgres":
        print(asyncio.run(_loaded(Settings(database=place), file)))
        return
    with TemporaryDirectory(dir=place) as fresh:
        if way == "service":
            print(asyncio.run(by_service(Path(fresh), file)))
        else:
            print(by_driver(Path(fresh), file, database_file(settings_in(Path(place)))))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
