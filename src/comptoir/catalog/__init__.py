"""The catalog: the entity sets of the service, declared in `built-in.toml`, or in a user's file."""

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

_SHIPPED = "built-in.toml"
_built_in = Source.parse(_SHIPPED, files(__name__).joinpath(_SHIPPED).read_bytes())

MODEL = build(_built_in)
"""The model of a service without another catalog."""


def read_catalog(path: Path) -> Model:
    """The model that a file declares; raises `OperatorError` with all faults of the file."""
    content = read_whole(path, problems.FILE_OF_CATALOG, MOST_BYTES)
    source = Source.parse(str(path), content)
    if source.content.get("base") == "built-in":
        source.extend(_built_in.content)
    return build(source)


@cache
def accepted_model(name: str, canonical: str) -> Model:
    """The model of the catalog that a database has accepted; messages call it `name`."""
    if canonical == MODEL.source:
        return MODEL
    return build(Source(name, msgspec.json.decode(canonical)))
