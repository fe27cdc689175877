"""The option `--costs`: prints how much of the run each folder of tests takes."""

from collections import Counter, defaultdict

import pytest


class Costs:
    """Adds up the seconds of the tests by folder, with their fixtures."""

    def __init__(self) -> None:
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._tests: Counter[str] = Counter()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count a stage of a test."""
        folder = "/".join(report.nodeid.partition("::")[0].split("/")[:2])
        self._seconds[folder] += report.duration
        self._tests[folder] += report.when == "call"

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print a line for each folder; the costliest is the first."""
        terminalreporter.section("seconds of each folder, in all processes together")
        for folder, seconds in sorted(self._seconds.items(), key=lambda each: -each[1]):
            terminalreporter.line(f"{seconds:8.1f} s {self._tests[folder]:6} tests  {folder}")
