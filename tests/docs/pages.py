"""The pages of the documentation: their blocks, their links, and sessions in them that are run.

The `sh` blocks of a page are one session: they run in order, in one shell, as a reader pastes them.
Blocks that are for reading alone are marked `shell`. A `json` or `text` block behind an `sh` block
promises what that one prints: `…` stands for what was left out, and ids, tags, times and addresses,
which differ from run to run, are compared as such.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from support.processes import fork_server

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
_MARK = "-- end of block --"
_VARYING = (
    (re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "<guid>"),
    (re.compile(r'W/\\?"[0-9a-f]{8}\.\d+\\?"'), "<tag>"),
    (re.compile(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"), "<instant>"),
    (re.compile(r"http://127\.0\.0\.1:\d+"), "<service>"),
    (re.compile(r"eyJ[\w-]+\.[\w-]+\.[\w-]+"), "<token>"),
)


@dataclass(frozen=True, slots=True)
class Step:
    """A block to run, its line, and the output that the page shows."""

    line: int
    commands: str
    promised: str | None


def pages() -> Sequence[Path]:
    """Every page that people read."""
    return [
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        ROOT / "CHANGELOG.md",
        *sorted(DOCS.rglob("*.md")),
    ]


def steps(page: Path) -> list[Step]:
    """The session of a page."""
    text = page.read_text(encoding="utf-8")
    found: list[Step] = []
    is_behind = False
    for block in _FENCE.finditer(text):
        kind, content = block[1], block[2]
        if kind == "sh":
            found.append(Step(text.count("\n", 0, block.start()) + 2, content, None))
        elif kind in ("json", "text") and is_behind:
            found[-1] = Step(found[-1].line, found[-1].commands, content)
        is_behind = kind == "sh"
    return found


def run(session: Sequence[Step], folder: Path, environment: Mapping[str, str]) -> list[str]:
    """Run a session in one shell, and return the output of each step, including errors."""
    script = "\n".join(f"{step.commands}\necho; echo '{_MARK}'" for step in session)
    # where python3 is a script that chooses among several, each call of it would take a while
    path = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
    done = subprocess.run(
        ["sh"],
        input=script,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=folder,
        env={**environment, "PATH": path, "FORK_SERVER": str(fork_server().fileno())},
        pass_fds=[fork_server().fileno()],
        text=True,
        timeout=200,
        check=False,
    )
    return done.stdout.split(f"\n{_MARK}\n")[: len(session)]


def keeps_promise(promised: str, printed: str) -> bool:
    """Whether a page shows this output."""
    pieces = [re.escape(piece) for piece in _steady(promised).split("…")]
    return re.fullmatch(r".*?".join(pieces), _steady(printed), re.DOTALL) is not None


def _steady(text: str) -> str:
    for varying, name in _VARYING:
        text = varying.sub(name, text)
    # pages break long lines where the service does not
    return re.sub(r"\s+", "", text)


def links(page: Path) -> Iterator[str]:
    """The links of a page, except those in code."""
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    text = re.sub(r"`[^`\n]*`", "", text)
    yield from _LINK.findall(text)


def anchors(page: Path) -> set[str]:
    """The fragments by which a page's headings are linked to."""
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    return {
        re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")
        for heading in _HEADING.findall(text)
    }
