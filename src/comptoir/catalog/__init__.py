"""The catalog: the entity sets of the service, declared in a shipped file, or in a user's."""

import copyreg
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from importlib.resources import files
from pathlib import Path

import msgspec

from comptoir.catalog.building import build
from comptoir.catalog.source import Source
from comptoir.config import read_whole
from comptoir.edm.model import Model
from comptoir.errors import operator_rows as problems

MOST_BYTES = 16 << 20
"""The most bytes of a catalog's file."""

BASE = "built-in"
"""The name of the catalog of the interface, to which others may add."""

API_V2 = "business-central-v2"
"""The name of the catalog that adds Business Central's API v2.0 to that of the interface."""


def _shipped(name: str) -> bytes:
    return files(__name__).joinpath(f"{name}.toml").read_bytes()


_built_in = Source.parse(f"{BASE}.toml", _shipped(BASE))

MODEL = replace(
    build(_built_in), source=Source(_built_in.name, {"base": BASE, "comptoir": 1}).as_json
)
"""The model of a service without another catalog."""


def read_catalog(path: Path) -> Model:
    """The model that a file declares, or the shipped catalog that has this name.

    Raises `OperatorError` with all faults of the file.
    """
    name = str(path)
    if name == BASE:
        return MODEL
    if name == API_V2:
        return _declared(f"{name}.toml", _shipped(name))
    return _declared(name, read_whole(path, problems.FILE_OF_CATALOG, MOST_BYTES))


@cache
def _declared(name: str, content: bytes) -> Model:
    return _built(Source.parse(name, content))


@cache
def accepted_model(name: str, accepted: str) -> Model:
    """The model of the catalog that a database has accepted; messages call it `name`."""
    if accepted == MODEL.source:
        return MODEL
    return _built(Source(name, msgspec.json.decode(accepted)))


def _reduced(model: Model) -> tuple[Callable[[str, str], Model], tuple[str, str]]:
    return accepted_model, ("the catalog of the service", model.source)


# a worker that does not begin as a copy of its supervisor builds the model again
copyreg.pickle(Model, _reduced)


def _built(source: Source) -> Model:
    if source.content.get("base") == API_V2:
        source.include(Source.parse(f"{API_V2}.toml", _shipped(API_V2)).content)
    if source.content.get("base") == BASE:
        source.extend(_built_in.content)
    return build(source)
