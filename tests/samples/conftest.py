import pytest

from samples.reading import Company, small_company


@pytest.fixture(scope="session")
def small() -> Company:
    return small_company()
