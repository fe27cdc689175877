"""The kinds of the contract: one small file each, found here and assembled into the model."""

from importlib import import_module
from pkgutil import iter_modules

from comptoir.edm.model import EntitySet, Model


def _declared() -> tuple[EntitySet, ...]:
    names = sorted(module.name for module in iter_modules(__path__))
    found = [import_module(f"{__name__}.{name}").ENTITY_SET for name in names]
    return tuple(sorted(found, key=lambda each: (each.per_company, each.name.lower())))


MODEL = Model(_declared())
"""Every kind of record that the service serves."""
