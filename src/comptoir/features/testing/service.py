"""A service for tests: `comptoir serve` with faults on a free port, over a sample company."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import msgspec

from comptoir import __version__
from comptoir.auth.tokens import Scope, TokenIssuer, token_issuer
from comptoir.config import ENVIRONMENT_PREFIX, SettingValue, load_settings
from comptoir.features.rehearsal.client import (
    CONTROL_TOKEN_LIVES,
    ControlClient,
    Report,
    read_report,
)
from comptoir.features.rehearsal.entries import Sent
from comptoir.features.testing import errors as problems

_GREETING = "Serving "
_STOP_SECONDS = 10
_CLIENT_TOKEN_LIVES = timedelta(hours=1)

_OWN = ("database", "faults", "keys", "port", "public_url", "workers")
"""The settings that a test cannot change."""

_RECEIVING: Mapping[str, SettingValue] = {"outgoing_allow": "127.0.0.0/8", "outgoing_http": "on"}
"""Lets a test receive notifications."""

_CLIENT = (Scope.RECORDS_READ, Scope.RECORDS_WRITE, Scope.EVENTS)


class _Requests(msgspec.Struct, frozen=True):
    value: list[Sent]


class _Clock(msgspec.Struct, frozen=True, rename="camel"):
    ahead_seconds: float


class Comptoir:
    """A service for tests, with a sample company; its faults are those of the current test.

    `url` is the base URL, `company` the company's id, and `token` the token of the client that is
    tested, which is valid for an hour.
    """

    def __init__(self, url: str, company: str, issuer: TokenIssuer) -> None:
        self.url = url
        self.company = company
        self._issuer = issuer
        self._ahead = timedelta()
        self._control = ControlClient(
            url,
            issuer.issue("comptoir.features.testing", [Scope.FAULTS], None, CONTROL_TOKEN_LIVES),
        )
        self._control.send("POST", "mark")
        self.token = self.new_token()

    def new_token(self) -> str:
        """Another token of the client, such as it gets when a token has expired."""
        return self._issuer.issue("client", _CLIENT, None, self._ahead + _CLIENT_TOKEN_LIVES)

    def fault(
        self,
        fault: str,
        *,
        times: int | None = None,
        probability: float = 1.0,
        seed: int = 0,
        **match: str | int,
    ) -> None:
        """Let requests meet a fault, such as `throttle; retry-after=2`, until the test ends.

        `match` selects the requests, by `method`, `path`, `set`, `client` and `nth`. Raises
        `OperatorError` for a wrong rule.
        """
        rule: dict[str, object] = {"fault": fault, "probability": probability, "seed": seed}
        if times is not None:
            rule["times"] = times
        if match:
            rule["match"] = match
        self._control.send("POST", "rules", rule)

    def advance(self, duration: str) -> None:
        """Move the clock of tokens, rates and notifications on, by a duration such as `PT8M`."""
        moved = self._control.read("POST", "clock", _Clock, {"advance": duration})
        self._ahead = timedelta(seconds=moved.ahead_seconds)

    @property
    def requests(self) -> Sequence[Sent]:
        """The requests of clients in this test."""
        return self._control.read("GET", "requests", _Requests).value

    def report(self) -> Report:
        """The traps of clients in this test."""
        return read_report(self._control)

    def reset(self) -> None:
        """Restore the records, remove the faults, and set the clock back."""
        self._control.send("POST", "reset")
        self._ahead = timedelta()
        self.token = self.new_token()


@contextmanager
def serving(folder: Path, given: Mapping[str, SettingValue]) -> Iterator[Comptoir]:
    """A service whose files are in a folder; raises `OperatorError` for wrong settings."""
    for name in given:
        if name in _OWN:
            raise problems.RESERVED_SETTING(name=name)
    template = _template()
    shutil.copyfile(template, folder / "comptoir.db")
    own: Mapping[str, SettingValue] = {
        "database": f"sqlite:///{folder / 'comptoir.db'}",
        "keys": str(folder / "keys"),
        "faults": "on",
        "port": 0,
    }
    settings = {"profile": "business-central", **_RECEIVING, **given, **own}
    config = folder / "comptoir.toml"
    # a string in JSON is one in TOML, too
    lines = [f"{name} = {msgspec.json.encode(value).decode()}" for name, value in settings.items()]
    config.write_text("\n".join(lines), encoding="utf-8")
    issuer = token_issuer(load_settings({"config": str(config)}, {}))
    log = folder / "service.log"
    with (
        log.open("wb") as errors,
        subprocess.Popen(  # noqa: S603 - the service itself
            _command("serve", "--config", str(config)),
            env=_environment(),
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        ) as process,
    ):
        try:
            yield Comptoir(_address(process, log), template.stem, issuer)
        finally:
            _stop(process)


def _address(process: subprocess.Popen[str], log: Path) -> str:
    """The base URL that a service prints when it listens; raises `OperatorError`."""
    greeting = "" if process.stdout is None else process.stdout.readline()
    if not greeting.startswith(_GREETING):
        process.wait()
        reason = " ".join(log.read_text(encoding="utf-8").split())
        raise problems.NOT_STARTED(log=reason)
    return greeting.removeprefix(_GREETING).rstrip("\n")


def _stop(process: subprocess.Popen[str]) -> None:
    process.terminate()
    try:
        process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()


def _template() -> Path:
    """A database with a sample company, named after its id; created once for each release."""
    folder = _cache() / __version__
    folder.mkdir(parents=True, exist_ok=True)
    found = sorted(folder.glob("*.db"))
    if found:
        return found[0]
    with tempfile.TemporaryDirectory(dir=folder) as building:
        database = Path(building) / "comptoir.db"
        done = subprocess.run(  # noqa: S603 - the command itself
            _command("sample", "--database", f"sqlite:///{database}"),
            env=_environment(),
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        # complete when it appears, also for other test processes
        return database.rename(folder / f"{done.stdout.split()[-1]}.db")


def _cache() -> Path:
    """The folder of the templates: that of the user's caches, on every system."""
    folder = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(folder) / "comptoir" / "testing"


def _command(*arguments: str) -> Sequence[str]:
    return [sys.executable, "-m", "comptoir", *arguments]


def _environment() -> Mapping[str, str]:
    """The environment without the settings of another service."""
    return {
        name: value for name, value in os.environ.items() if not name.startswith(ENVIRONMENT_PREFIX)
    }
