"""The pages of the documentation: their links, and their blocks, which are run as sessions.

The `sh` blocks of a page are one session: they run in order, in one shell, as a reader pastes them.
`python` and `javascript` blocks are programs that it runs, with the variables that it exports.
Blocks that must not run are marked `shell`. A `json` or `text` block after a block that runs is the
expected output: `…` marks omitted text, and ids, ETags, times and addresses may differ.
"""

import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from support.processes import fork_server

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
_MARK = "-- end of block --"
_COMMANDS = {
    "sh": "{}",
    "python": "python3 - << 'END'\n{}END\n",
    "javascript": "node --input-type=module - << 'END'\n{}END\n",
}
"""The commands that run a block of a language."""
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
    expected: str | None


def pages() -> Sequence[Path]:
    """The pages of the documentation."""
    others = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "examples/README.md")
    return [*(ROOT / each for each in others), *sorted(DOCS.rglob("*.md"))]


def steps(page: Path) -> list[Step]:
    """The session of a page."""
    text = page.read_text(encoding="utf-8")
    found: list[Step] = []
    follows_step = False
    for block in _FENCE.finditer(text):
        language, content = block[1], block[2]
        if language in _COMMANDS:
            commands = _COMMANDS[language].format(content)
            found.append(Step(text.count("\n", 0, block.start()) + 2, commands, None))
        elif language in ("json", "text") and follows_step:
            found[-1] = Step(found[-1].line, found[-1].commands, content)
        follows_step = language in _COMMANDS
    return found


def install(folder: Path) -> None:
    """Create the `comptoir` of a `.venv`: a program that forks, since the pages run it often."""
    program = folder / ".venv" / "bin" / "comptoir"
    program.parent.mkdir(parents=True)
    forking = (ROOT / "tests" / "support" / "fork_client.py").read_text()
    program.write_text(f"#!{sys.executable} -IS\n{forking}")
    program.chmod(0o755)


def run(session: Sequence[Step], folder: Path, environment: Mapping[str, str]) -> list[str]:
    """Run a session in one shell, and return the output of each step, including errors."""
    script = "\n".join(f"{step.commands}\necho; echo '{_MARK}'" for step in session)
    # where python3 is a script that selects an interpreter, each call of it takes time
    programs = [folder / ".venv" / "bin", Path(sys.executable).parent, environment["PATH"]]
    path, server = os.pathsep.join(map(str, programs)), fork_server().fileno()
    done = subprocess.run(
        ["sh"],
        input=script,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=folder,
        env={**environment, "PATH": path, "FORK_SERVER": str(server)},
        pass_fds=[server],
        text=True,
        check=False,
    )
    return done.stdout.split(f"\n{_MARK}\n")[: len(session)]


def is_expected(expected: str, printed: str) -> bool:
    """Whether a page shows this output."""
    pieces = [re.escape(piece) for piece in _steady(expected).split("…")]
    return re.fullmatch(r".*?".join(pieces), _steady(printed), re.DOTALL) is not None


def _steady(text: str) -> str:
    for varying, name in _VARYING:
        text = varying.sub(name, text)
    # pages break long lines that the service does not break
    return re.sub(r"\s+", "", text)


def links(page: Path) -> list[str]:
    """The links of a page, except those in code."""
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    return _LINK.findall(re.sub(r"`[^`\n]*`", "", text))


def anchors(page: Path) -> set[str]:
    """The fragments by which a page's headings are linked to."""
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    return {
        re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")
        for heading in _HEADING.findall(text)
    }
