from collections.abc import Iterator

import pytest

from comptoir.catalog import MODEL
from comptoir.config import Settings
from comptoir.store.migration import migrate
from support.postgres import Databases
from support.shards import shard


@pytest.fixture(scope="session")
def sharded(postgres_server: Databases) -> Iterator[str]:
    """The URL of an empty database that has partitions for each company."""
    url = postgres_server.new_database()
    migrate(Settings(database=url), MODEL)
    shard(url)
    yield url
    postgres_server.drop(url)
