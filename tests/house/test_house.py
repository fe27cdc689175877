"""The repository follows its house rules, which are in `rules`."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from house import rules
from house.rules import ROOT, Source, Violation, sources

NEVER_KEPT = {".git", ".hypothesis", ".venv", "data", "build", "dist", "__pycache__"}

# "module:function" or "module", and the reason. An entry that is not needed fails, too.
BLIND_EXCEPTS: Mapping[str, str] = {
    "comptoir.store.jobs:every": "a background job goes on; the cause is logged",
    "comptoir.features.notifications.sender:_going_on": "the cause goes to the log",
    "comptoir.features.console.guards:Guards.__call__": "the user gets a page",
    "comptoir.http.batch_run:Run._awaited": "what was done before it must be answered all the same",
    "comptoir.http.api:Api._respond": "whatever fails, the client gets an error body",
    "comptoir.store.postgres.writer:PostgresWriter._commit": "else its writes wait for ever",
    "comptoir.store.postgres.writer:PostgresWriter._transaction": "its error goes to a waiter",
    "comptoir.store.sqlite.store:SqliteWriter._commit": "else all later writes wait for ever",
    "comptoir.store.sqlite.store:SqliteWriter._run": "its error goes to the waiter",
}
FOLLOWED: Mapping[str, str] = {
    "comptoir.plan.target:_Resolver._related": "authorize_target judges the steps of a path",
    "comptoir.plan.write:_related": "judged in the next lines",
    "comptoir.plan.fields:ExpandBinder.related": "_names judges what an item expands",
    "comptoir.plan.expressions.binder:PathBinder._followed": "judged in the next line",
}

OF_ALL_MODULES = (rules.unknown_stations, rules.wrong_directions, rules.cycles)
OF_EACH_MODULE: Mapping[Callable[[Source], Iterator[Violation]], Mapping[str, str]] = {
    rules.long_modules: {},
    rules.long_functions: {},
    rules.blind_excepts: BLIND_EXCEPTS,
    rules.bare_todos: {},
    rules.atomic_groups: {},
    rules.message_forms: {},
    rules.followed_relations: FOLLOWED,
    rules.profile_names: {},
}


@pytest.fixture(scope="module")
def repository_files() -> list[str]:
    """The files that git tracks or would track; without git, all but generated ones."""
    git = shutil.which("git")
    if git and (ROOT / ".git").exists():
        command = [git, "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
        if listed.returncode == 0:
            names = sorted(set(listed.stdout.decode().split("\0")) - {""})
            return [name for name in names if (ROOT / name).is_file()]
    return sorted(_walk())


def _walk() -> Iterator[str]:
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [f for f in folders if f not in NEVER_KEPT and not f.endswith("_cache")]
        yield from ((Path(folder) / name).relative_to(ROOT).as_posix() for name in names)


def assert_none(violations: Iterable[Violation], allowed: Mapping[str, str] | None = None) -> None:
    found = list(violations)
    places = {violation.place for violation in found}
    broken = [str(violation) for violation in found if violation.place not in (allowed or {})]
    unused = [
        f"{place} no longer needs its entry in the allow-list: remove it"
        for place in allowed or {}
        if place not in places
    ]
    assert not broken + unused, "\n" + "\n".join(broken + unused)


@pytest.mark.parametrize("rule", OF_ALL_MODULES, ids=lambda rule: rule.__name__)
def test_the_modules_together(rule: Callable[[Sequence[Source]], Iterator[Violation]]) -> None:
    assert_none(rule(sources()))


@pytest.mark.parametrize("rule", OF_EACH_MODULE, ids=lambda rule: rule.__name__)
def test_each_module(rule: Callable[[Source], Iterator[Violation]]) -> None:
    assert_none((found for source in sources() for found in rule(source)), OF_EACH_MODULE[rule])


def test_no_file_names_a_registry_or_a_machine(repository_files: list[str]) -> None:
    found: list[Violation] = []
    for name in repository_files:
        content = (ROOT / name).read_bytes()
        if b"\0" not in content:
            found += rules.workplace_names(name, content.decode("utf-8", "replace"))
    assert_none(found)


def test_no_test_folder_is_a_package(repository_files: list[str]) -> None:
    assert_none(rules.test_packages(repository_files))


def test_an_allowed_place_is_reported_only_if_nothing_needs_it() -> None:
    found = Violation("api.py", 1, "comptoir.http.api:respond", "catches every exception")
    allowed = {found.place: "a 500 is an answer too"}
    assert_none([found], allowed)
    with pytest.raises(AssertionError, match="no longer needs"):
        assert_none([], allowed)
