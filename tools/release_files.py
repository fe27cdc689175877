"""Builds what a release publishes, for the tag of this commit: `make release`.

All files are built twice and compared. The notes are a section of the changelog.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NoReturn

UMASKS = (0o022, 0o077)
"""Those of the two builds, which also differ in their folder and their time."""

UNRELEASED = "Unreleased"

PUBLISH = """
dist/ has comptoir {version}, the same from two builds. Publish it by pushing its tag, for which the
release workflow builds the same files:

    git push origin v{version}

Without the workflow, publish these files:

    uv publish dist/*.whl dist/*.tar.gz && gh release create v{version} dist/* --verify-tag \\
        --title v{version} --notes-file build/notes.md
"""

_TITLE = re.compile(r"^## (.*)\n", re.MULTILINE)
_RELATIVE_LINK = re.compile(r"\[([^]]*)\]\((?!https?:)[^)]*\)")


def main() -> None:
    """Write the files into `dist`, and the notes to `build/notes.md`."""
    if output("git", "status", "--porcelain"):
        refuse("the checkout has changes", "Commit them, or remove them.")
    version = output(sys.executable, "-m", "hatchling", "version")
    tags = output("git", "tag", "--points-at", "HEAD", "--list", "v[0-9]*").split()
    if tags != [f"v{version}"]:
        found = " and ".join(tags) or "missing"
        refuse(
            f"the version is {version}, and the tag of this commit is {found}",
            f"Give the commit that has this `__version__` the tag v{version}, and no other.",
        )
    notes = notes_of(version, Path("CHANGELOG.md").read_text("utf-8"))
    with TemporaryDirectory() as folder:
        first, second = (built(Path(folder, f"umask-{each:o}"), each) for each in UMASKS)
    if different := sorted({name for name, _ in first.items() ^ second.items()}):
        refuse(f"two builds differ in {', '.join(different)}", "Find what differs, and remove it.")
    sums = [f"{sha256(content).hexdigest()}  {name}\n" for name, content in sorted(first.items())]
    replace("dist", {**first, "SHA256SUMS": "".join(sums).encode()})
    replace("build", {"notes.md": notes.encode()})
    sys.stdout.write(PUBLISH.format(version=version))


def notes_of(version: str, changelog: str) -> str:
    """The section of a version; links to files of the repository become plain text."""
    _, *parts = _TITLE.split(changelog)
    sections = {title: text.strip() for title, text in zip(parts[::2], parts[1::2], strict=True)}
    own = [text for title, text in sections.items() if title.partition(" - ")[0] == version]
    if sections.get(UNRELEASED) or not any(own):
        refuse(
            f"CHANGELOG.md has changes under {UNRELEASED}, or none under {version}",
            f"Move all to a section '## {version} - ' with the date.",
        )
    return _RELATIVE_LINK.sub(r"\1", own[0]) + "\n"


def built(folder: Path, umask: int) -> Mapping[str, bytes]:
    """The files that a build of the commit in a folder makes, by their names."""
    environment = {**os.environ, "SOURCE_DATE_EPOCH": output("git", "log", "-1", "--format=%ct")}
    # the tools are installed here, not there
    tools = ["-o", ".venv/.check", f"BIN={Path(sys.executable).parent}"]
    for command in (
        ["git", "checkout-index", "--all", f"--prefix={folder}/"],
        ["make", "--no-print-directory", "-C", str(folder), *tools, "dist"],
    ):
        subprocess.run(command, env=environment, umask=umask, check=True)
    return {each.name: each.read_bytes() for each in (folder / "dist").iterdir()}


def replace(folder: str, files: Mapping[str, bytes]) -> None:
    """Write files into a folder that has no others."""
    shutil.rmtree(folder, ignore_errors=True)
    Path(folder).mkdir()
    for name, content in files.items():
        Path(folder, name).write_bytes(content)


def output(*command: str) -> str:
    """What a command prints; its own message is enough if it fails."""
    done = subprocess.run(command, check=False, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(done.returncode)
    return done.stdout.strip()


def refuse(problem: str, remedy: str) -> NoReturn:
    """End with a message in one line."""
    sys.exit(f"no release: {problem}. {remedy}")


if __name__ == "__main__":
    main()
