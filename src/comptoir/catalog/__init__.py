"""The entity types of the interface, each declared in a module of this folder."""

from importlib import import_module
from pkgutil import iter_modules

from comptoir.edm.model import EntitySet, Model


def _declared() -> tuple[EntitySet, ...]:
    names = sorted(module.name for module in iter_modules(__path__))
    found = [import_module(f"{__name__}.{name}").ENTITY_SET for name in names]
    return tuple(sorted(found, key=lambda each: (each.per_company, each.name.lower())))


MODEL = Model(_declared())
"""The model of the service."""
