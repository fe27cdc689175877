"""`$select` bound to a kind (OData URL Conventions 4.01, section 5.1.4)."""

from collections.abc import Collection, Sequence

from comptoir.edm.model import NAMESPACE, EntityType
from comptoir.errors import Refusal
from comptoir.plan.faults import misused, no_further, unknown_name, unsupported
from comptoir.plan.read import Column
from comptoir.request.select import SELECT, SelectItem, parse_select


def bind_select(
    kind: EntityType,
    text: str,
    computed: Collection[str] = (),
    contained: Collection[str] = (),
) -> frozenset[str] | None:
    """The properties that are wanted, computed ones among them; None for all.

    `contained` are the sets that a record contains. Raises `Refusal`: 400 for what is no property,
    501 for a path to another record.
    """
    names: set[str] = set()
    everything = False
    for item in parse_select(text):
        name = _name(kind, item, computed, contained)
        if item.all:
            everything = True
        elif name in kind.by_name or name in computed:
            names.add(name)
        elif name not in kind.related and name not in contained:
            known = [*kind.by_name, *kind.related, *contained, *computed]
            raise unknown_name(SELECT, item.position, name, f"property of {kind.name}", known)
    return None if everything else frozenset(names)


def bind_result_select(columns: Sequence[Column], text: str) -> frozenset[str] | None:
    """The names of a result's columns that are wanted; None for all.

    The name of a relation means all that is grouped by along it. Raises `Refusal` (400) for what
    the result does not have.
    """
    names: set[str] = set()
    everything = False
    for item in parse_select(text):
        found = [each.name for each in columns if each.path[: len(item.path)] == item.path]
        if item.all:
            everything = True
        elif found:
            names.update(found)
        else:
            known = [each.name for each in columns]
            name = "/".join(item.path)
            what = "property of the aggregated result"
            raise unknown_name(SELECT, item.position, name, what, known)
    return None if everything else frozenset(names)


def _name(
    kind: EntityType, item: SelectItem, computed: Collection[str], contained: Collection[str]
) -> str:
    path = own_path(kind, item.path)
    if len(path) == 1:
        return path[0]
    if path[0] in kind.related or path[0] in contained:
        shown = "/".join(item.path)[:100]
        raise unsupported(SELECT, item.position, f"selecting {shown}, beyond the record itself")
    raise astray(kind, SELECT, item.position, path, computed)


def own_path(kind: EntityType, path: tuple[str, ...]) -> tuple[str, ...]:
    """A path without a cast to the type that a record of `kind` has anyway."""
    return path[1:] if len(path) > 1 and path[0] == f"{NAMESPACE}.{kind.name}" else path


def astray(
    kind: EntityType,
    option: str,
    position: int,
    path: tuple[str, ...],
    computed: Collection[str] = (),
) -> Refusal:
    """400: a path of several names that does not begin with a navigation property of `kind`."""
    first = path[0]
    if first in kind.by_name or first in computed:
        return no_further(option, position, first, "/".join(path))
    if "." in first:
        message = f"{first[:100]} is not the type of a {NAMESPACE}.{kind.name}."
        return misused(option, position, message)
    known = [*kind.by_name, *kind.related, *computed]
    return unknown_name(option, position, first, f"property of {kind.name}", known)
