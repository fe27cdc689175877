"""The catalog: the entity sets of the service, declared in `built-in.toml`, or in a user's file."""

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

_SHIPPED = f"{BASE}.toml"
_built_in = Source.parse(_SHIPPED, files(__name__).joinpath(_SHIPPED).read_bytes())

MODEL = replace(build(_built_in), source=Source(_SHIPPED, {"base": BASE, "comptoir": 1}).as_json)
"""The model of a service without another catalog."""


def read_catalog(path: Path) -> Model:
    """The model that a file declares; raises `OperatorError` with all faults of the file."""
    content = read_whole(path, problems.FILE_OF_CATALOG, MOST_BYTES)
    return _built(Source.parse(str(path), content))


@cache
def accepted_model(name: str, accepted: str) -> Model:
    """The model of the catalog that a database has accepted; messages call it `name`."""
    if accepted == MODEL.source:
        return MODEL
    return _built(Source(name, msgspec.json.decode(accepted)))


def _built(source: Source) -> Model:
    if source.content.get("base") == BASE:
        source.extend(_built_in.content)
    return build(source)
