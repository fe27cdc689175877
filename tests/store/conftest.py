"""The settings of a store."""

from pathlib import Path

import pytest

from comptoir.catalog import MODEL
from comptoir.config import Settings
from support.databases import FreshDatabase


@pytest.fixture
def settings(fresh_database: FreshDatabase, tmp_path: Path) -> Settings:
    """Settings for a new database."""
    return Settings(database=fresh_database(tmp_path, MODEL), keys=str(tmp_path / "keys"))
