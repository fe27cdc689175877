"""The compose file under `deploy`, as far as the tests use it."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

import msgspec
import yaml  # type: ignore[import-untyped]

from support.dockerfile import stages

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "deploy" / "compose"

_VARIABLE = re.compile(r"\$\{(\w+):\?\}")


class Build(msgspec.Struct, forbid_unknown_fields=True):
    context: str
    dockerfile: str = "Dockerfile"


class Dependency(msgspec.Struct, forbid_unknown_fields=True):
    condition: Literal["service_started", "service_healthy", "service_completed_successfully"]


class Health(msgspec.Struct, forbid_unknown_fields=True):
    test: list[str] = []
    interval: str = ""
    timeout: str = ""
    disable: bool = False


class Service(msgspec.Struct, forbid_unknown_fields=True):
    image: str = ""
    build: Build | str | None = None
    user: str = ""
    entrypoint: list[str] = []
    command: list[str] = []
    environment: dict[str, str] = {}
    ports: list[str] = []
    volumes: list[str] = []
    read_only: bool = False
    tmpfs: list[str] = []
    cap_add: list[str] = []
    cap_drop: list[str] = []
    security_opt: list[str] = []
    depends_on: dict[str, Dependency] = {}
    healthcheck: Health | None = None
    stop_grace_period: str = ""
    restart: Literal["no", "unless-stopped"] = "no"

    @property
    def is_ours(self) -> bool:
        """Whether it uses the package's own image."""
        return isinstance(self.build, Build)

    @property
    def dockerfile(self) -> Path | None:
        """The Dockerfile of its image; None for one that is pulled."""
        if isinstance(self.build, Build):
            return self.context / self.build.dockerfile
        return None if self.build is None else self.context / "Dockerfile"

    @property
    def context(self) -> Path:
        """The folder from which its image is built."""
        context = self.build.context if isinstance(self.build, Build) else self.build
        return (FOLDER / (context or "")).resolve()

    @property
    def copied(self) -> Iterator[Path]:
        """The files and folders from which its image is built."""
        if self.dockerfile is not None:
            for stage in stages(self.dockerfile.read_text()):
                for copy in stage.all("COPY"):
                    if "from" not in copy.flags:
                        yield from (self.context / source for source in copy.text.split()[:-1])


class Compose(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    services: dict[str, Service]
    volumes: dict[str, None]


def compose() -> Compose:
    """The file; raises `msgspec.ValidationError` for a member that is not declared here."""
    document = yaml.safe_load((FOLDER / "compose.yaml").read_text())
    del document["x-host"], document["x-least"]
    return msgspec.convert(document, Compose)


def variables(text: str) -> set[str]:
    """The variables in a text."""
    return set(_VARIABLE.findall(text))


def example() -> Mapping[str, str]:
    """The variables of the example, with placeholders for their values."""
    lines = (FOLDER / "example.env").read_text().splitlines()
    pairs = (line.partition("=") for line in lines if line and not line.startswith("#"))
    return {name: value for name, _, value in pairs}


def of_page(name: str) -> str:
    """The configuration of nginx in a how-to."""
    text = (ROOT / "docs" / "how-to" / name).read_text("utf-8")
    (found,) = re.findall(r"^```nginx\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return str(found)
