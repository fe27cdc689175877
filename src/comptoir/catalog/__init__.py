"""The catalog: the entity sets of the service, declared in `built-in.toml`."""

from importlib.resources import files

from comptoir.catalog.building import Catalog, build
from comptoir.catalog.source import Source


def _built_in() -> Catalog:
    name = "built-in.toml"
    return build(Source(name, files(__name__).joinpath(name).read_text(encoding="utf-8")))


BUILT_IN = _built_in()
"""The catalog that the service has without another one."""

MODEL = BUILT_IN.model
"""The model of the service."""
