"""The image, built and run by the instructions of the Dockerfile without Docker.

The steps run as they are, in a root file system that consists of this machine's, with Python in
`/usr/local` as in the base image, and of changes that are kept in memory. Only root can mount it.
"""

import json
import os
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.dockerfile import Instruction, Stage, stages
from support.programs import needed
from support.waiting import PATIENCE_SECONDS

MEGABYTES = 150
"""The most that an image has."""

BASE_PATH = "/usr/local/bin:/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin"
"""`PATH` in the base image."""

CHANGEABLE = """
mount -t tmpfs tmpfs {work}
cd {work}
mkdir root changes scratch
mount -t overlay -o lowerdir=/,upperdir=changes,workdir=scratch overlay root
"""
"""The root file system of this machine, with changes that are kept in memory."""

MACHINE = """
mkdir python-changes python-scratch
mount -t overlay -o lowerdir={python},upperdir=python-changes,workdir=python-scratch overlay \
    root/usr/local
mount --rbind /dev root/dev
mount -t proc proc root/proc
mv {links} root
"""
HIDDEN = """
mount -t tmpfs tmpfs root{python}
chroot root ldconfig
"""
"""Python in a folder of its own finds its library only in the folder of the image."""

READ_ONLY = """
mount --bind {root} {root}
mount -o remount,bind,ro {root}
mount -t tmpfs tmpfs {root}/tmp
mount --bind {data} {root}{volume}
mount --rbind /dev {root}/dev
mount -t proc proc {root}/proc
exec env -i {environment} {unshare} --root={root} --wd={folder} --setgid={group} --setuid={user} \
    {command}
"""


@dataclass(frozen=True)
class Image:
    """A built image: its last stage, and its files."""

    stage: Stage
    root: Path
    unshare: str

    @property
    def user(self) -> tuple[int, int]:
        user, group = self.stage.one("USER").text.split(":")
        return int(user), int(group)

    @property
    def volume(self) -> str:
        return self.stage.one("VOLUME").text

    @property
    def health_check(self) -> list[str]:
        return _words(self.stage.one("HEALTHCHECK").text.removeprefix("CMD "))

    def command(self, *arguments: str) -> list[str]:
        """What starts the entry point, by default with the arguments of the image."""
        entry = _words(self.stage.one("ENTRYPOINT").text)
        return [*entry, *(arguments or _words(self.stage.one("CMD").text))]

    def start(
        self, command: Sequence[str], data: Path, variables: Mapping[str, str]
    ) -> "subprocess.Popen[str]":
        """A process in a read-only container with the data as its volume.

        The process is started as `docker run --read-only --tmpfs /tmp --cap-drop ALL` does.
        """
        user, group = self.user
        given = {**self.stage.environment, **variables}
        script = READ_ONLY.format(
            root=self.root,
            data=data,
            volume=self.volume,
            environment=shlex.join(f"{name}={value}" for name, value in given.items()),
            unshare=self.unshare,
            folder=self.stage.one("WORKDIR").text,
            group=group,
            user=user,
            command=shlex.join(command),
        )
        return subprocess.Popen(
            [self.unshare, "--mount", "sh", "-euc", script],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(
        self, command: Sequence[str], data: Path, variables: Mapping[str, str] | None = None
    ) -> str:
        """The output of a command that succeeds."""
        with self.start(command, data, variables or {}) as process:
            output = process.communicate(timeout=PATIENCE_SECONDS)[0]
        assert process.returncode == 0, output
        return output


def built_image(repository: Path, folder: Path) -> Image:
    """Build the image of a repository; skips the test where no file system can be mounted."""
    unshare = needed("unshare", "util-linux")
    needed("strip", "binutils")
    context, work, root = (folder / name for name in ("context", "work", "image"))
    for made in (work, root):
        made.mkdir()
    begin = [unshare, "--mount", "sh", "-eu"]
    changeable = CHANGEABLE.format(work=work)
    tried = subprocess.run(begin, input=changeable, capture_output=True, text=True, check=False)
    if tried.returncode != 0:
        # root may mount, unless it is that of a container; neither can be installed
        pytest.skip(f"no file system can be mounted here: {tried.stderr}")
    _copy_context(repository, context)
    build, last = stages((repository / "Dockerfile").read_text("utf-8"))
    assert last.base == "scratch"
    python = Path(sys.base_prefix)
    links = folder / "links.html"
    script = changeable + MACHINE.format(python=python, links=links)
    if python != Path("/usr"):
        script += HIDDEN.format(python=python)
    script += "".join(_steps(build, {"": context}, work / "root"))
    script += "".join(_steps(last, {build.name: work / "root"}, root))
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "VIRTUAL"))}
    if _list_packages(repository, links):
        environment |= {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": f"/{links.name}"}
    ended = subprocess.run(
        begin,
        input=script,
        env={**environment, "PATH": BASE_PATH},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr + ended.stdout
    # a container has these
    for made in (root / "dev", root / "proc"):
        made.mkdir()
    return Image(last, root, unshare)


def _list_packages(repository: Path, links: Path) -> bool:
    """Write a page of links to the locked packages; false if they cannot be listed.

    With it, pip need not read the thousands of links of the index, which takes longer than the
    installation.
    """
    uv = Path(sys.executable).with_name("uv")
    locks = [repository / "requirements" / name for name in ("build.txt", "run.txt")]
    found = links.with_name("pylock.toml")
    options = ["--no-config", "--quiet", "--no-deps", "--python", sys.executable]
    command: list[str | Path] = [uv, "pip", "compile", *options, "--output-file", found, *locks]
    links.touch()
    if not uv.exists() or subprocess.run(command, capture_output=True, check=False).returncode:
        return False
    packages = tomllib.loads(found.read_text("utf-8"))["packages"]
    wheels = [wheel for package in packages for wheel in package["wheels"]]
    links.write_text("".join(f'<a href="{wheel["url"]}"></a>\n' for wheel in wheels), "utf-8")
    return True


def _copy_context(repository: Path, context: Path) -> None:
    """Copy what `.dockerignore` leaves of a repository."""
    lines = (repository / ".dockerignore").read_text("utf-8").splitlines()
    assert lines[0] == "*"
    kept = [line[1:] for line in lines if line.startswith("!")]
    ignored = [line.removeprefix("**/") for line in lines if line.startswith("**/")]
    assert len(lines) == 1 + len(kept) + len(ignored)
    context.mkdir()
    for name in kept:
        if (repository / name).is_dir():
            pattern = shutil.ignore_patterns(*ignored)
            shutil.copytree(repository / name, context / name, ignore=pattern)
        else:
            shutil.copy(repository / name, context / name)


def _steps(stage: Stage, sources: Mapping[str, Path], root: Path) -> Iterator[str]:
    """The shell commands that carry out the steps of a stage in its root."""
    folder = "/"
    for each in stage.instructions:
        if each.name == "WORKDIR":
            folder = each.text
            yield f"mkdir -p {root}{folder}\n"
        elif each.name == "COPY":
            yield _copying(each, sources[each.flags.get("from", "")], root, folder)
        elif each.name == "RUN":
            yield f"chroot {root} env -C {folder} sh -c {shlex.quote(each.text)}\n"
        else:
            assert each.name in {"ENV", "USER", "VOLUME", "EXPOSE", "HEALTHCHECK"} | {
                "ENTRYPOINT",
                "CMD",
            }


def _copying(copy: Instruction, source: Path, root: Path, folder: str) -> str:
    *names, target = copy.text.split()
    into = f"{root}{Path(folder, target)}"
    lines = [f"mkdir -p {into}"]
    for name in names:
        path = f"{source}/{name.lstrip('/')}"
        # of a folder, the content is copied, with the mode of the folder
        lines.append(f"if [ -d {path} ]; then cp -aT {path} {into}; else cp -a {path} {into}; fi")
    if "chown" in copy.flags:
        lines.append(f"chown -R {copy.flags['chown']} {into}")
    return "\n".join(lines) + "\n"


def _words(text: str) -> list[str]:
    """The words of a command in JSON."""
    words: list[str] = json.loads(text)
    return words
