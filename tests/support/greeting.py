"""What `comptoir serve --https` prints as it starts."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass

from support.processes import Process


@dataclass(frozen=True)
class Greeting:
    """The variables by which clients trust the service, and its base URL."""

    variables: Mapping[str, str]
    base_url: str

    @property
    def origin(self) -> str:
        return self.base_url.removesuffix("/api")


def greeting_of(process: Process) -> Greeting:
    """Read what a service prints until it can be used."""
    variables: dict[str, str] = {}
    for line in process.stdout:
        first, *rest = shlex.split(line.decode())
        if first == "Serving":
            return Greeting(variables, rest[0])
        if first == "export":
            name, _, value = rest[0].partition("=")
            variables[name] = value
    raise AssertionError(process.stderr.read().decode())
