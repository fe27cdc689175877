"""The two databases whose functions are compared."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from support.functions import OnPostgres, OnSqlite
from support.postgres import Databases


@pytest.fixture(scope="session")
def postgres(postgres_server: Databases) -> Iterator[OnPostgres]:
    with OnPostgres(postgres_server.new_database()) as postgres:
        yield postgres


@pytest.fixture(scope="session")
def sqlite() -> Iterator[OnSqlite]:
    with closing(OnSqlite()) as sqlite:
        yield sqlite
