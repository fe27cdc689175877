"""Libraries whose inner parts the service uses stay below the next release that may change them."""

import ast
import tomllib
from collections.abc import Mapping
from importlib.metadata import version

from packaging.requirements import Requirement

from comptoir.http.cycle import Cycle
from comptoir.http.protocol import InOrder, Protocol, ServerConfig
from house.rules import ROOT, sources
from support.together import together

INNER: Mapping[str, str] = {
    "sqlalchemy": "its compilers, and the elements of expressions",
    "starlette": "the pattern of a route",
    "uvicorn": "its protocol of HTTP/1.1 and its exchanges, which ours extend",
}
"""Libraries by name, with the parts that are used though they may change without notice."""

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
REQUIRED = {each.name: each for each in map(Requirement, PROJECT["dependencies"])}


@together("name", INNER)
def test_a_library_with_inner_parts_has_an_upper_bound(name: str) -> None:
    """Of the next release that may change them; after a test of it, the bound moves."""
    specifiers = REQUIRED[name].specifier
    (bound,) = [each.version for each in specifiers if each.operator == "<"]
    assert version(name) in specifiers
    assert not specifiers.contains(f"{bound}.1", prereleases=True)
    if version(name).startswith("0."):
        assert bound == f"0.{int(version(name).split('.')[1]) + 1}"


def test_no_other_library_has_private_modules_in_use() -> None:
    found = set()
    for source in sources():
        for node in source.nodes:
            if isinstance(node, ast.Import):
                modules = [each.name for each in node.names]
            elif isinstance(node, ast.ImportFrom):
                modules = [f"{node.module}.{each.name}" for each in node.names]
            else:
                continue
            found |= {each.split(".")[0] for each in modules if "._" in each}
    assert found - {"comptoir"} <= INNER.keys()


@together("extended", [Cycle, InOrder, Protocol, ServerConfig])
def test_what_an_extension_overrides_exists(extended: type[object]) -> None:
    """A method that a newer release renames would no longer be called."""
    for name, member in vars(extended).items():
        if getattr(member, "__override__", False):
            assert any(hasattr(base, name) for base in extended.__bases__), name
