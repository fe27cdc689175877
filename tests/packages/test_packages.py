"""The wheel: complete, and enough for a service."""

import os
import signal
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import httpx

from packages.conftest import ROOT, Built
from support.ports import LOOPBACK, free_port
from support.programs import needed_module
from support.sockets import http_client
from support.waiting import PATIENCE_SECONDS, until

PACKAGE = ROOT / "src" / "comptoir"
INSTALL_SECONDS = 200
TERMINATED = 128 + signal.SIGTERM
"""The status of every command that was terminated."""


def test_the_wheel_holds_every_file_of_the_package_as_it_is(built: Built) -> None:
    expected = {
        path.relative_to(PACKAGE.parent).as_posix(): path.read_bytes()
        for path in PACKAGE.rglob("*")
        if path.is_file() and path.parent.name != "__pycache__"
    }
    with zipfile.ZipFile(built.wheel) as wheel:
        names = [each for each in wheel.namelist() if ".dist-info/" not in each]
        found = {name: wheel.read(name) for name in names}
    assert found == expected


@dataclass(frozen=True)
class Installed:
    """The command from the wheel, in an environment that has only what the wheel requires."""

    command: Sequence[str]
    folder: Path

    def start(self, *arguments: str) -> "subprocess.Popen[str]":
        """The process of a command, whose output has its errors too."""
        return subprocess.Popen(
            [*self.command, *arguments],
            cwd=self.folder,
            env={name: value for name, value in os.environ.items() if "COMPTOIR" not in name},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, *arguments: str, status: int = 0) -> str:
        """The output of a command that ends with a status."""
        with self.start(*arguments) as process:
            output = process.communicate(timeout=INSTALL_SECONDS)[0]
        assert process.returncode == status, output
        return output


def test_one_command_serves_a_sample_company(built: Built, tmp_path: Path) -> None:
    """By `uvx`, which caches the environment after its first use.

    Without the extra for Parquet, a file of it is refused with the command that installs it.
    """
    uv = str(needed_module("uv", "uv").find_uv_bin())
    constraints = str(ROOT / "requirements" / "run.txt")
    python = ["--no-config", "--quiet", "--python", sys.executable]
    wheel = str(built.wheel)
    command = [uv, "tool", "run", *python, "--constraints", constraints, "--from", wheel]
    installed = Installed([*command, "comptoir"], tmp_path)
    installed.run("--version")

    port = str(free_port())
    url = f"http://{LOOPBACK}:{port}"
    with installed.start("serve", "--quickstart", "--port", port) as serve, http_client() as client:
        try:
            until(lambda: is_up(client, url), "a service that answers")
            bearer = {"Authorization": f"Bearer {installed.run('token').split()[-1]}"}
            (company,) = client.get(f"{url}/api/companies", headers=bearer).json()["value"]
            assert company["name"] == "Comptoir Sample"
            assert client.get(f"{url}/docs").status_code == 200
            serve.terminate()
            assert serve.wait(PATIENCE_SECONDS) == TERMINATED
        finally:
            serve.kill()

    (tmp_path / "customersExt.parquet").write_bytes(b"PAR1")
    output = installed.run("load", "--company", company["id"], "customersExt.parquet", status=1)
    assert "Run pip install 'comptoir[parquet]'." in output


def is_up(client: httpx.Client, url: str) -> bool | None:
    try:
        return client.get(f"{url}/healthz").status_code == 200 or None
    except httpx.TransportError:
        return None
