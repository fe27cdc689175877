"""The release and its workflow: pinned, with few permissions, and its steps as far as they run."""

import json
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

import jsonschema_rs
import pytest
import yaml  # type: ignore[import-untyped]

from comptoir import __version__
from comptoir.config import load_settings
from packages.conftest import ROOT, Built
from packages.image import MEGABYTES
from support.dockerfile import stages
from support.programs import needed_module
from support.together import together

TEXT = (ROOT / ".github" / "workflows" / "release.yml").read_text("utf-8")
WORKFLOW = yaml.safe_load(TEXT)
STEPS = [step for job in WORKFLOW["jobs"].values() for step in job["steps"]]
COMMANDS = [step["run"] for step in STEPS if "run" in step]
BUILD, RELEASE = "make dist", "make release"
COMMIT = "git commit --quiet --all --message 'A commit'"

_PIN = re.compile(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")


def ended(command: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    """A step that has run as in the workflow."""
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", command],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def checked_out(built: Built, folder: Path) -> Path:
    """A clean copy of the repository in which the tools of the checks are installed."""
    # the argument that makes `tarfile` safe came with Python 3.11.4
    subprocess.run(["tar", "-xf", built.sdist, "-C", folder], check=True)
    (source,) = folder.iterdir()
    (source / "PKG-INFO").unlink()
    tools = source / ".venv"
    tools.mkdir()
    for name in ("bin", "lib", "pyvenv.cfg"):
        (tools / name).symlink_to(Path(sys.prefix, name))
    for name in (".run", ".test", ".check"):
        (tools / name).touch()
    return source


def test_every_action_is_pinned_by_its_commit() -> None:
    used = re.findall(r"uses: (.*)", TEXT)
    assert len(used) == sum("uses" in step for step in STEPS)
    assert [each for each in used if _PIN.fullmatch(each) is None] == []


def test_each_job_has_only_the_permissions_that_it_needs() -> None:
    assert WORKFLOW["permissions"] == {}
    assert {name: job["permissions"] for name, job in WORKFLOW["jobs"].items()} == {
        "build": {"contents": "read"},
        "image": {"contents": "read"},
        "attest": {"id-token": "write", "attestations": "write"},
        "publish": {"id-token": "write"},
        "release": {"contents": "write"},
    }
    assert "secrets." not in TEXT


def test_no_job_with_an_identity_runs_what_it_has_not_built() -> None:
    """A package that a build runs could sign and publish with the identity of the workflow."""
    for name, job in WORKFLOW["jobs"].items():
        if "id-token" in job["permissions"]:
            assert [step for step in job["steps"] if "run" in step] == [], name


@pytest.mark.parametrize("command", COMMANDS)
def test_a_step_is_a_script(command: str, tmp_path: Path) -> None:
    # the runner replaces its own expressions before the shell sees them
    assert "${{" not in command
    assert ended(f"set -n\n{command}", tmp_path).stderr == ""


@pytest.fixture(scope="module")
def repository(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository of its own whose only commit is a release, with the tag `base`.

    It lacks the folders with the most files, which a build only packs.
    """
    source = checked_out(built, tmp_path_factory.mktemp("repository"))
    for name in ("bench", "docs", "tests"):
        shutil.rmtree(source / name)
    changelog = source / "CHANGELOG.md"
    text = changelog.read_text("utf-8").replace("## Unreleased", f"## {__version__} - 2026-01-31")
    changelog.write_text(text, "utf-8")
    names = "git config user.name Tests && git config user.email tests@example.com"
    done(f"git init --quiet && {names} && git add --all && {COMMIT} && git tag base", source)
    return source


@pytest.fixture
def release(repository: Path) -> Path:
    """The repository at its release, with the tag of that."""
    restore(repository)
    return repository


def restore(repository: Path) -> None:
    done(
        "git reset --quiet --hard base && git clean --quiet --force -d && "
        f"git tag --list 'v*' | xargs git tag --delete && git tag v{__version__}",
        repository,
    )


def done(command: str, folder: Path) -> str:
    """The output of a command that succeeds."""
    end = ended(command, folder)
    assert end.returncode == 0, end.stdout + end.stderr
    return end.stdout


def refused(repository: Path) -> str:
    """The error of a release that is not made."""
    end = ended(RELEASE, repository)
    assert end.returncode != 0
    return end.stderr


def test_a_release_has_the_same_bytes_twice_with_notes_and_checksums(release: Path) -> None:
    needed_module("cyclonedx_py", "cyclonedx-bom")
    assert RELEASE in COMMANDS
    (release / "dist").mkdir()
    (release / "dist" / "comptoir-0.0.1.tar.gz").write_text("of an earlier build")

    printed = done(RELEASE, release)

    assert f"    git push origin v{__version__}\n" in printed
    made = {path.name for path in (release / "dist").iterdir()} - {"SHA256SUMS"}
    ends = ("-py3-none-any.whl", ".cdx.json", ".tar.gz")
    assert made == {f"comptoir-{__version__}{each}" for each in ends}
    sums = done("sha256sum --check --strict SHA256SUMS", release / "dist").splitlines()
    assert sums == [f"{each}: OK" for each in sorted(made)]
    with tarfile.open(release / "dist" / f"comptoir-{__version__}.tar.gz") as archive:
        times = {int(each.mtime) for each in archive}
    assert times == {int(done("git log -1 --format=%ct", release))}
    notes = (release / "build" / "notes.md").read_text("utf-8")
    assert notes.startswith("The first version.\n\n### Added\n")
    assert "\n## " not in notes
    assert "](docs/" not in notes
    assert done("git status --porcelain", release) == ""


def test_builds_that_differ_are_refused(release: Path) -> None:
    makefile = release / "Makefile"
    text = makefile.read_text("utf-8")
    recipe = text[text.index("\t@rm -rf build dist") : text.index("\nrelease: ")]
    makefile.write_text(text.replace(recipe, "\tmkdir dist; pwd > dist/where; echo > dist/same\n"))
    done(f"{COMMIT} && git tag --force v{__version__}", release)

    assert "no release: two builds differ in where. Find" in refused(release)


CHANGES = "the checkout has changes. Commit them"
TAGS = f"the version is {__version__}, and the tag of this commit is"
UNCUT = f"CHANGELOG.md has changes under Unreleased, or none under {__version__}. Move"


@together(
    ("change", "reason"),
    [
        ("touch new.py", CHANGES),
        ("echo >> README.md", CHANGES),
        (f"git tag --delete v{__version__}", f"{TAGS} missing. Give"),
        (f"git tag v{__version__}1", f"{TAGS} v{__version__} and v{__version__}1. Give"),
        (f"git tag --delete v{__version__} && git tag v9.0.0", f"{TAGS} v9.0.0. Give"),
        (f"echo >> README.md && {COMMIT}", f"{TAGS} missing. Give"),
    ],
)
def test_what_is_not_the_commit_of_a_tag_is_refused(
    repository: Path, change: str, reason: str
) -> None:
    restore(repository)
    done(change, repository)

    assert f"no release: {reason}" in refused(repository)


@together("titles", [["Unreleased"], ["9.0.0 - 2026-01-31"], ["Unreleased", f"{__version__} - "]])
def test_changes_that_no_section_of_the_version_has_are_refused(
    repository: Path, titles: Sequence[str]
) -> None:
    restore(repository)
    sections = "".join(f"## {each}\n\n- A change\n\n" for each in titles)
    (repository / "CHANGELOG.md").write_text(f"# Changelog\n\n{sections}")
    done(f"{COMMIT} && git tag --force v{__version__}", repository)

    assert f"no release: {UNCUT}" in refused(repository)


def test_the_image_of_a_release_is_tried_as_the_tests_do() -> None:
    assert [each for each in COMMANDS if each.startswith(".ci/image ")]
    tried = (ROOT / ".ci" / "image").read_text("utf-8")
    assert f"-lt {MEGABYTES}000000" in tried
    assert "--read-only --tmpfs /tmp --cap-drop ALL" in tried
    settings = load_settings({}, stages((ROOT / "Dockerfile").read_text("utf-8"))[-1].environment)
    assert f"--publish 127.0.0.1:{settings.admin_port}:{settings.admin_port} " in tried
    assert f"= {settings.beside_api('/console/login')} ]" in tried


def test_each_machine_for_which_there_is_an_image_builds_it() -> None:
    machines = WORKFLOW["jobs"]["image"]["strategy"]["matrix"]["include"]
    assert [each["architecture"] for each in machines] == ["amd64", "arm64"]
    # nothing is emulated
    assert [each["runner"].endswith("-arm") for each in machines] == [False, True]
    page = (ROOT / "docs" / "how-to" / "container.md").read_text("utf-8")
    assert f"comptoir-{__version__}-image-amd64.tgz" in page


def schema(url: str) -> dict[str, object]:
    """One of CycloneDX's schemas; `cyclonedx_py` takes 2 seconds of CPU to check what it writes."""
    name = url.rpartition("/")[2].replace(".SNAPSHOT", "").replace(".schema", ".SNAPSHOT.schema")
    value: dict[str, object] = json.loads((files("cyclonedx.schema._res") / name).read_bytes())
    return value


@pytest.mark.timeout(600)
def test_a_build_from_the_sdist_has_the_same_bytes_and_lists_what_it_needs(
    built: Built, tmp_path: Path
) -> None:
    needed_module("cyclonedx_py", "cyclonedx-bom")
    source = checked_out(built, tmp_path)
    done(BUILD, source)
    made = {path.name: path.read_bytes() for path in (source / "dist").iterdir()}
    bill = json.loads(made.pop(f"comptoir-{__version__}.cdx.json"))
    jsonschema_rs.validator_for(schema(bill["$schema"]), retriever=schema).validate(bill)
    assert made == {each.name: each.read_bytes() for each in (built.wheel, built.sdist)}

    assert bill["bomFormat"] == "CycloneDX"
    described = bill["metadata"]["component"]
    assert (described["name"], described["version"]) == ("comptoir", __version__)
    lock = (ROOT / "requirements" / "run.txt").read_text("utf-8")
    pins = re.findall(r"^([\w.-]+)==([\w.]+)", lock, re.MULTILINE)
    assert sorted((each["name"], each["version"]) for each in bill["components"]) == sorted(pins)
