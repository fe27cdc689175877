"""Count the source files that run while the service answers a GET by id, a list and a PATCH.

Usage: python tools/files_per_request.py [--names]

The requests go over a socket to a sample company in a temporary SQLite database. Each is sent
twice: first to fill the caches, then to be counted. `--names` also prints the files.
"""

import json
import os
import signal
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from datetime import timedelta
from http.client import HTTPConnection
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType

import comptoir
from comptoir.app import application
from comptoir.auth.tokens import Scope, token_issuer
from comptoir.catalog import MODEL
from comptoir.cli.runner import use_store
from comptoir.config import Settings
from comptoir.features.samples.command import find_or_fill
from comptoir.http.supervisor import bind, run
from comptoir.store.migration import make_ready

_SOURCES = str(Path(comptoir.__file__).parent) + os.sep
_JSON = {"Content-Type": "application/json", "If-Match": "*"}


class _Recorder:
    """A profile function that collects the files of the package while `on` is true."""

    def __init__(self) -> None:
        self.on = False
        self.files: set[str] = set()

    def __call__(self, frame: FrameType, event: str, argument: object) -> None:
        name = frame.f_code.co_filename
        if self.on and event == "call" and name.startswith(_SOURCES):
            self.files.add(name.removeprefix(_SOURCES))


class _Client:
    """Sends the requests from a thread, then stops the service."""

    def __init__(self, port: int, token: str, recorder: _Recorder) -> None:
        self._connection = HTTPConnection("127.0.0.1", port)
        self._authorization = {"Authorization": f"Bearer {token}"}
        self._recorder = recorder
        self.counted: dict[str, list[str]] = {}

    def run(self, company: str) -> None:
        """Send a read, a list and an update of the company's contacts, and count their files."""
        try:
            contacts = f"/api/companies({company})/contactsExt"
            first = json.loads(self._sent("GET", f"{contacts}?$top=1"))["value"][0]["id"]
            record = f"{contacts}({first})"
            self._count("GET by id", "GET", record)
            self._count("list", "GET", f"{contacts}?$filter=type%20eq%20'Person'&$top=10")
            self._count("PATCH", "PATCH", record, _JSON, b'{"city": "%s"}')
        finally:
            os.kill(os.getpid(), signal.SIGINT)

    def _count(
        self,
        name: str,
        method: str,
        path: str,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
    ) -> None:
        for text in (b"first", b"second"):
            self._recorder.files.clear()
            self._recorder.on = True
            self._sent(method, path, headers, None if body is None else body % text)
            self._recorder.on = False
        self.counted[name] = sorted(self._recorder.files)

    def _sent(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
    ) -> bytes:
        self._connection.request(method, path, body, {**self._authorization, **(headers or {})})
        answer = self._connection.getresponse()
        content = answer.read()
        if answer.status != 200:
            raise SystemExit(f"{method} {path} returned {answer.status}: {content!r}")
        return content


def counted(folder: Path) -> Mapping[str, list[str]]:
    """The files that run, by the name of the request."""
    settings = Settings(
        database=f"sqlite:///{folder / 'sample.db'}", keys=str(folder / "keys"), log_level="off"
    )
    make_ready(settings, MODEL)
    company = use_store(settings, find_or_fill)
    token = token_issuer(settings).issue("count", tuple(Scope), None, timedelta(hours=1))
    listener = bind("127.0.0.1", 0)
    recorder = _Recorder()
    client = _Client(listener.getsockname()[1], token, recorder)
    thread = threading.Thread(target=client.run, args=(company,))
    thread.start()
    threading.setprofile(recorder)
    sys.setprofile(recorder)
    with suppress(KeyboardInterrupt):
        run(application(settings), settings, [listener])
    sys.setprofile(None)
    thread.join()
    return client.counted


def main() -> None:
    """Print the number of files for each request."""
    with TemporaryDirectory() as folder:
        for name, files in counted(Path(folder)).items():
            print(f"{name}: {len(files)} files")
            if "--names" in sys.argv:
                print("".join(f"    {each}\n" for each in files), end="")


if __name__ == "__main__":
    main()
