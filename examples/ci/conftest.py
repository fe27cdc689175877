"""The service of these tests: Comptoir's own profile, whose lists have delta links."""

import pytest


@pytest.fixture(scope="session")
def comptoir_settings() -> dict[str, str]:
    return {"profile": "standard"}
