from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from support.certificates import trusted_folder
from support.lying_server import LyingServer, Respond, Start


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts a server whose authority the machine trusts."""
    with trusted_folder(tmp_path), ExitStack() as servers:

        def started(respond: Respond, host: str = "127.0.0.1") -> LyingServer:
            return servers.enter_context(LyingServer(tmp_path, respond, host))

        yield started
