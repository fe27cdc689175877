"""This checkout's service beside another's: the CPU time of a request, as a ratio.

Usage: PYTHONPATH=tests python bench/against.py CHECKOUT [--rounds N] [--seconds N]

Both services run from their sources, with the packages of this checkout, on the same core and over
copies of the same company. Each round sends every scenario to one service and then to the other,
in alternating order, so that whatever else the machine does affects both.
"""

import argparse
import asyncio
import os
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from batches import BATCH_CLIENTS
from beside_pages import PAGE_CLIENTS
from company import Measured, copied, prepare, write_files
from figures import Comparison, table
from processes import Cores, Server, SetupError, program, running, two_cores
from scenarios import BATCH, scenarios
from workbench import CONNECTIONS
from wrk import LoadError, Scenario, Wrk

from comptoir.config import Settings

HERE = Path(__file__).resolve().parents[1]


def main() -> None:
    """Measure and print; exits with one line if the machine lacks something."""
    parser = argparse.ArgumentParser(description="Compares two checkouts.")
    parser.add_argument("checkout", type=Path, help="the checkout to compare with")
    parser.add_argument("--rounds", type=int, default=10, help="how many rounds (10)")
    parser.add_argument("--seconds", type=int, default=2, help="how long each run takes (2)")
    arguments = parser.parse_args()
    try:
        program("wrk", "wrk")
        cores = two_cores()
        os.sched_setaffinity(0, {cores.load})
        build = HERE / "build"
        build.mkdir(exist_ok=True)
        with TemporaryDirectory(prefix="bench-", dir=build) as folder:
            for line in table(_compared(arguments, Path(folder), cores), {}):
                print(line)
    except (SetupError, LoadError) as error:
        sys.exit(f"bench: {error}")


def _compared(arguments: argparse.Namespace, folder: Path, cores: Cores) -> list[Comparison]:
    measured = asyncio.run(prepare(folder, write_files(folder, None)))
    roots = [HERE, arguments.checkout.resolve()]
    settings = [measured.settings, copied(measured.settings, folder / "copy")]
    wrk = Wrk(cores.load)
    with ExitStack() as stack:
        services = [
            stack.enter_context(_service(root, each, cores))
            for root, each in zip(roots, settings, strict=True)
        ]
        asked = list(_scenarios(measured, folder))
        for scenario, connections, _ in asked:
            for service in services:
                wrk.run(service, scenario, connections, 1)
        figures = [Comparison(scenario.name, "µs", "the other") for scenario, *_ in asked]
        for number in range(arguments.rounds):
            order = services if number % 2 else services[::-1]
            for figure, (scenario, connections, parts) in zip(figures, asked, strict=True):
                costs = {
                    each.name: wrk.run(each, scenario, connections, arguments.seconds).cpu / parts
                    for each in order
                }
                figure.add(*(costs[each.name] for each in services))
    return figures


def _scenarios(measured: Measured, folder: Path) -> Iterator[tuple[Scenario, int, int]]:
    """Each scenario with its connections, and the requests or records that one request contains."""
    found = scenarios(measured, folder)
    for each in (found.read, found.price, found.price_again, found.update, found.create):
        yield each, CONNECTIONS, 1
    for each in (found.read, found.update):
        yield replace(each, name=f"{each.name}, one connection"), 1, 1
    yield found.pages, PAGE_CLIENTS, 1
    for each in (found.read_batch, found.create_batch):
        yield each, BATCH_CLIENTS, BATCH


def _service(root: Path, settings: Settings, cores: Cores) -> AbstractContextManager[Server]:
    environment = ["env", f"PYTHONPATH={root / 'src'}", "COMPTOIR_LOG_LEVEL=off"]
    options = ["--port", "0", "--database", settings.database, "--keys", settings.keys]
    command = [*environment, sys.executable, "-m", "comptoir", "serve", *options]
    return running(str(root), command, cores.server)


if __name__ == "__main__":
    main()
