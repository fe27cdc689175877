import pytest

from support.sample_files import Company, read_company


@pytest.fixture(scope="session")
def small() -> Company:
    return read_company()
