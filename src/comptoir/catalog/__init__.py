"""The entity types of the interface, declared in the modules of this folder."""

from importlib import import_module
from pkgutil import iter_modules

from comptoir.edm.model import EntitySet, Model


def _declared() -> tuple[EntitySet, ...]:
    modules = [import_module(f"{__name__}.{each.name}") for each in iter_modules(__path__)]
    found = {
        each for module in modules for each in vars(module).values() if isinstance(each, EntitySet)
    }
    return tuple(sorted(found, key=lambda each: (each.per_company, each.name.lower())))


MODEL = Model(_declared())
"""The model of the service."""
