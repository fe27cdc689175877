"""The plugin in a project of its own: its report, and what it says of wrong settings."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest

from comptoir.config import SettingValue
from comptoir.errors.refusal import OperatorError
from comptoir.features.testing.service import serving

CLIENT = """
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest


def status(comptoir, method="GET", path="contactsExt"):
    address = f"{comptoir.url}/companies({comptoir.company})/{path}"
    headers = {"Authorization": f"Bearer {comptoir.token}"}
    try:
        with urlopen(Request(address, headers=headers, method=method)) as response:
            return response.status
    except HTTPError as error:
        with error:
            return error.code


@pytest.mark.parametrize("count", [1, 2])
def test_throttled(comptoir, count):
    comptoir.fault("throttle", times=count)
    assert [status(comptoir) for _ in range(count + 1)] == [429] * count + [200]


def test_locked(comptoir):
    comptoir.fault("lock")
    assert status(comptoir, "DELETE", "contactsExt(00000000-0000-4000-8000-000000000001)") == 409
"""


def run(folder: Path, *options: str) -> tuple[int, str]:
    """The exit status and the output of pytest in a folder, without further plugins."""
    alone = ["-q", "-c", os.devnull, "--rootdir=.", "-p", "comptoir.features.testing.plugin"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *alone, *options],
        cwd=folder,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


def test_the_report_of_all_tests_is_printed_and_written(
    tmp_path: Path, comptoir_settings: Mapping[str, SettingValue]
) -> None:
    """Also if the tests run in another process."""
    (tmp_path / "test_client.py").write_text(CLIENT)
    status, printed = run(tmp_path, "-p", "xdist", "-n1", "--comptoir-report", "report.json")
    assert status == 0, printed
    lines = printed.splitlines()
    assert "throttling  met 3, by a fault 3, recovered: yes." in lines
    (lock,) = [line for line in lines if line.startswith("lock ")]
    assert "met 1, by a fault 1, recovered: no. Send the request again" in lock
    (missing,) = [line for line in lines if line.startswith("not met: ")]
    assert "stale-tag" in missing
    report = msgspec.json.decode((tmp_path / "report.json").read_bytes())
    assert (report["throttling"]["met"], report["stale-tag"]["met"]) == (3, 0)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"page_sice": 5}, "unknown setting page_sice. Did you mean page_size?"),
        ({"profile": "busines-central"}, "Did you mean business-central?"),
        ({"port": 80}, "the setting port cannot be changed in comptoir_settings. Remove it."),
        ({"host": "192.0.2.1"}, "the service did not start. "),
    ],
)
def test_wrong_settings_are_an_error(
    settings: Mapping[str, SettingValue],
    message: str,
    tmp_path: Path,
    comptoir_settings: Mapping[str, SettingValue],
) -> None:
    with pytest.raises(OperatorError) as raised, serving(tmp_path, settings):
        pass
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("client", "options"),
    [
        (CLIENT, ("-p", "no:comptoir-report", "-k", "locked")),
        ("def test_without_the_fixture():\n    pass\n", ()),
    ],
)
@pytest.mark.usefixtures("comptoir_settings")
def test_a_run_without_the_report(client: str, options: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "test_client.py").write_text(client)
    status, printed = run(tmp_path, *options)
    assert status == 0
    assert "1 passed" in printed
    assert " met " not in printed
