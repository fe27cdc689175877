"""The option `--parallel`: runs the tests in processes that are forked after the collection.

Each process takes the tests of a file at a time. It stays in a folder while that has tests, since
tests of a folder share what takes long to start.
"""

import os
import random
import traceback
from collections import deque
from collections.abc import Sequence
from io import StringIO
from itertools import groupby
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from pathlib import Path

import pytest
from _pytest._io import TerminalWriter
from _pytest.capture import CaptureManager
from _pytest.terminal import TerminalReporter

from support.processes import fork_server

FIRST = ("packages", "docs", "process", "clients", "contract", "browser")
"""The folders whose tests take the longest, which are run first."""

RUN_FOLDER = pytest.StashKey[Path]()
"""The folder that the processes share."""

Message = tuple[str, object]
ASKS, ENDS, REPORTS = "asks for tests", "has ended a test", "reports"


def count() -> int:
    """Two processes for each core: while a test waits, another one computes."""
    return 2 * (os.cpu_count() or 1)


class Parallel:
    """Distributes the tests, and reports what the processes report."""

    def __init__(self) -> None:
        self._waiting: dict[Path, deque[list[int]]] = {}
        self._folders: dict[Connection, Path] = {}
        self._given: dict[Connection, list[int]] = {}
        self._pids: dict[Connection, int] = {}

    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        """Run the tests, unless there is only one file, or what is collected is not run."""
        self._waiting = by_folder(session.items)
        files = sum(map(len, self._waiting.values()))
        if session.testsfailed or session.config.option.collectonly or files < 2:
            return None
        reporter = session.config.pluginmanager.get_plugin("terminalreporter")
        assert isinstance(reporter, TerminalReporter)
        # tests of several files end in between one another
        reporter.showfspath = False
        # the processes share these
        session.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]
        fork_server()
        for _ in range(min(count(), files)):
            self._fork(session)
        try:
            while self._pids:
                for each in wait(self._pids):
                    assert isinstance(each, Connection)
                    self._serve(each, session)
        finally:
            for connection, pid in self._pids.items():
                connection.close()
                os.waitpid(pid, 0)
        return True

    def _fork(self, session: pytest.Session) -> None:
        mine, theirs = Pipe()
        pid = os.fork()
        if pid == 0:
            for each in (mine, *self._pids):
                each.close()
            session.config.pluginmanager.unregister(self)
            run(session, theirs)
        theirs.close()
        self._pids[mine] = pid

    def _serve(self, connection: Connection, session: pytest.Session) -> None:
        try:
            subject, value = connection.recv()
        except EOFError:
            self._end(connection, session)
            return
        if subject == ASKS:
            connection.send(self._next(connection, session))
        elif subject == ENDS:
            self._given[connection].pop(0)
        else:
            hook, config = session.config.hook, session.config
            report = hook.pytest_report_from_serializable(config=config, data=value)
            hook.pytest_runtest_logreport(report=report)
            if report.when == "teardown":
                hook.pytest_runtest_logfinish(nodeid=report.nodeid, location=report.location)

    def _next(self, connection: Connection, session: pytest.Session) -> list[int]:
        """The tests of a file: of the process's folder, of one that is nobody's, or of the rest."""
        left = [folder for folder, files in self._waiting.items() if files]
        if not left or session.shouldfail or session.shouldstop:
            return []
        folder = self._folders.get(connection)
        if folder not in left:
            free = [each for each in left if each not in self._folders.values()]
            folder = free[0] if free else max(left, key=lambda each: len(self._waiting[each]))
            self._folders[connection] = folder
        positions = self._waiting[folder].popleft()
        self._given.setdefault(connection, []).extend(positions)
        return positions

    def _end(self, connection: Connection, session: pytest.Session) -> None:
        """A process has ended: if it was killed, by its current test, and another one goes on."""
        connection.close()
        _, status = os.waitpid(self._pids.pop(connection), 0)
        self._folders.pop(connection, None)
        given = self._given.pop(connection, [])
        if status == 0:
            return
        problem = f"the process of the test has ended with the status {status}"
        if not given:
            raise session.Failed(problem)
        item, others = session.items[given[0]], given[1:]
        report = pytest.TestReport(
            item.nodeid, item.location, dict.fromkeys(item.keywords, 1), "failed", problem, "call"
        )
        session.config.hook.pytest_runtest_logreport(report=report)
        if others:
            self._waiting[item.path.parent].appendleft(others)
        self._fork(session)


def by_folder(items: Sequence[pytest.Item]) -> dict[Path, deque[list[int]]]:
    """The positions of the tests of each file, by folder."""
    found: dict[Path, deque[list[int]]] = {}
    for path, positions in groupby(range(len(items)), lambda each: items[each].path):
        found.setdefault(path.parent, deque()).append(list(positions))
    return dict(sorted(found.items(), key=lambda each: each[0].name not in FIRST))


def run(session: pytest.Session, parent: Connection) -> None:
    """Run what the parent sends in this process, which ends then."""
    status = 1
    try:
        _begin(session, parent)
        _run(session, parent)
        status = 0
    except EOFError:
        # the parent has been interrupted
        pass
    finally:
        if status:
            traceback.print_exc()
        os._exit(status)


def _begin(session: pytest.Session, parent: Connection) -> None:
    """Take a folder, a captured output and random numbers of this process's own."""
    config = session.config
    factory = config._tmp_path_factory  # type: ignore[attr-defined]
    config.stash[RUN_FOLDER] = shared = factory.getbasetemp()
    factory._basetemp = shared / f"process-{os.getpid()}"
    factory._basetemp.mkdir(mode=0o700)
    capture = config.pluginmanager.get_plugin("capturemanager")
    assert isinstance(capture, CaptureManager)
    capture.stop_global_capturing()
    capture.start_global_capturing()
    capture.suspend_global_capture()
    random.seed()
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    assert isinstance(reporter, TerminalReporter)
    reporter._tw = TerminalWriter(StringIO())
    config.pluginmanager.register(_Reports(config, parent))


def _run(session: pytest.Session, parent: Connection) -> None:
    items = asked(parent)
    try:
        while items:
            item = session.items[items.pop(0)]
            # the fixtures that the next test needs are kept
            items = items or asked(parent)
            following = session.items[items[0]] if items else None
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            parent.send((ENDS, None))
            if session.shouldfail or session.shouldstop:
                break
    finally:
        session._setupstate.teardown_exact(None)
        session.config._ensure_unconfigure()


def asked(parent: Connection) -> list[int]:
    """The positions of the next tests, none if no test is left."""
    parent.send((ASKS, None))
    positions: list[int] = parent.recv()
    return positions


class _Reports:
    """Sends the reports of this process's tests to the parent."""

    def __init__(self, config: pytest.Config, parent: Connection) -> None:
        self._config = config
        self._parent = parent

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        hook = self._config.hook
        data = hook.pytest_report_to_serializable(config=self._config, report=report)
        self._parent.send((REPORTS, data))
