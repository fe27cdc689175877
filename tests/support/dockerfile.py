"""The instructions of a Dockerfile."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

_INSTRUCTION = re.compile(r"(?P<name>[A-Z]+) (?P<flags>(?:--\S+=\S+ +)*)(?P<text>.*)")
_STAGE = re.compile(r"(?P<base>\S+)(?: AS (?P<name>\w+))?")
_VARIABLE = re.compile(r"(\w+)=(\S+)")


@dataclass(frozen=True)
class Instruction:
    """`COPY --from=build a b` has the name COPY, the flag `from` and the text `a b`."""

    name: str
    flags: Mapping[str, str]
    text: str


@dataclass(frozen=True)
class Stage:
    """A stage, with the image from which it starts."""

    base: str
    name: str
    instructions: list[Instruction] = field(default_factory=list)

    def all(self, name: str) -> Iterator[Instruction]:
        """The instructions of a name."""
        return (each for each in self.instructions if each.name == name)

    def one(self, name: str) -> Instruction:
        """The only instruction of a name."""
        (found,) = self.all(name)
        return found

    @property
    def environment(self) -> Mapping[str, str]:
        """The variables of the stage."""
        return {k: v for each in self.all("ENV") for k, v in _VARIABLE.findall(each.text)}


def stages(text: str) -> list[Stage]:
    """The stages of a Dockerfile in their order."""
    found: list[Stage] = []
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    for line in "\n".join(lines).replace("\\\n", "").splitlines():
        match = _INSTRUCTION.fullmatch(line)
        assert match is not None or not line.strip(), line
        if match is not None and match["name"] == "FROM":
            stage = _STAGE.fullmatch(match["text"])
            assert stage is not None, line
            found.append(Stage(stage["base"], stage["name"] or ""))
        elif match is not None:
            flags = dict(each[2:].split("=", 1) for each in match["flags"].split())
            found[-1].instructions.append(Instruction(match["name"], flags, match["text"]))
    return found
