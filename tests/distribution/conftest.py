from collections.abc import Iterator

import pytest

from comptoir.catalog import MODEL, read_catalog
from comptoir.config import Settings
from comptoir.edm.model import Model
from comptoir.store.migration import migrate
from support.postgres import Databases
from support.shards import TABLES, shard, tables_of
from support.subjects import added_options


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Model:
    """The built-in sets, and own ones with every option."""
    return read_catalog(added_options(tmp_path_factory.mktemp("catalog")))


@pytest.fixture(scope="session")
def sharded(postgres_server: Databases, model: Model) -> Iterator[str]:
    """The URL of an empty database that has partitions for each company.

    Its catalog has grown from the built-in one since it was partitioned.
    """
    url = postgres_server.new_database()
    migrate(Settings(database=url), MODEL)
    shard(url)
    migrate(Settings(database=url), model)
    shard(url, sorted(set(tables_of(model)) - set(TABLES)))
    yield url
    postgres_server.drop(url)
