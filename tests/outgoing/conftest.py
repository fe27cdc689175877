from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from support.lying_server import LyingServer, Respond, Start


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    """Starts a server whose authority the machine trusts."""
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authority.pem"))
    with ExitStack() as servers:

        def started(respond: Respond, host: str = "127.0.0.1") -> LyingServer:
            return servers.enter_context(LyingServer(tmp_path, respond, host))

        yield started
