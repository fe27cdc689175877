"""The pytest plugin: the fixture `comptoir`, and a report at the end of the test run.

pytest imports it by the entry point `comptoir` in `pytest11`.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec
import pytest

from comptoir.config import SettingValue
from comptoir.features.rehearsal.client import merged, report_lines
from comptoir.features.rehearsal.entries import TrapLine
from comptoir.features.testing.service import Comptoir, serving

_REPORT = "comptoir-report"
"""The name of the report as a plugin: pytest prints none with `-p no:comptoir-report`."""

_PROPERTY = "comptoir"
"""The property of a test's report that has the traps which the test has met, as JSON."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that names the file of the report."""
    parser.getgroup("comptoir").addoption(
        "--comptoir-report",
        metavar="FILE",
        type=Path,
        help="Write the report of what clients have met to a JSON file, too.",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Collect what the tests have met."""
    config.pluginmanager.register(Summary(config), _REPORT)


class Summary:
    """Collects the reports of all tests, also of those that ran in other processes."""

    def __init__(self, config: pytest.Config) -> None:
        self._file: Path | None = config.getoption("--comptoir-report")
        self._lines: list[TrapLine] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep what a test that has ended has met."""
        if report.when != "teardown":
            return
        for name, value in report.user_properties:
            if name == _PROPERTY:
                self._lines += msgspec.json.decode(str(value), type=list[TrapLine])

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the report of all tests, and write it to a file."""
        report = merged(self._lines)
        if self._file is not None:
            self._file.write_bytes(msgspec.json.format(msgspec.json.encode(report)))
        if report:
            terminalreporter.section("what the client has met")
            for text in report_lines(report):
                terminalreporter.line(text)


@pytest.fixture(scope="session")
def comptoir_settings() -> Mapping[str, SettingValue]:
    """The settings of the service; override it to change some, such as `profile`."""
    return {}


@pytest.fixture(scope="session")
def comptoir_service(
    comptoir_settings: Mapping[str, SettingValue], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Comptoir]:
    """The service that all tests share."""
    with serving(tmp_path_factory.mktemp("comptoir"), comptoir_settings) as service:
        yield service


@pytest.fixture
def comptoir(comptoir_service: Comptoir, request: pytest.FixtureRequest) -> Iterator[Comptoir]:
    """A service with a sample company, as it was at its start and without faults."""
    comptoir_service.reset()
    yield comptoir_service
    lines = list(comptoir_service.report().values())
    if lines:
        request.node.user_properties.append((_PROPERTY, msgspec.json.encode(lines).decode()))
