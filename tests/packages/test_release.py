"""The release workflow: pinned, with few permissions, and its steps as far as they run here."""

import json
import os
import re
import subprocess
import sys
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

TEXT = (ROOT / ".github" / "workflows" / "release.yml").read_text("utf-8")
WORKFLOW = yaml.safe_load(TEXT)
STEPS = [step for job in WORKFLOW["jobs"].values() for step in job["steps"]]
COMMANDS = [step["run"] for step in STEPS if "run" in step]
BUILD = "make dist"

_PIN = re.compile(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")


def ended(command: str, folder: Path, tag: str) -> "subprocess.CompletedProcess[str]":
    """A step that has run as in the workflow."""
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", command],
        cwd=folder,
        env={**os.environ, "GITHUB_REF_NAME": tag},
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
    assert ended(f"set -n\n{command}", tmp_path, "v1.0.0").stderr == ""


def test_only_the_tag_of_the_version_is_released() -> None:
    compare = COMMANDS[0]
    assert ended(compare, ROOT, f"v{__version__}").returncode == 0
    assert ended(compare, ROOT, f"v{__version__}1").returncode != 0
    assert ended(compare, ROOT, __version__.replace(".", "x")).returncode != 0


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
    assert BUILD in COMMANDS
    source = checked_out(built, tmp_path)
    done = ended(BUILD, source, f"v{__version__}")
    assert done.returncode == 0, done.stdout + done.stderr
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
