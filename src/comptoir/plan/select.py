"""`$select` bound to a kind (OData URL Conventions 4.01, section 5.1.4)."""

from collections.abc import Collection, Sequence

from comptoir.edm.entity import EntityType
from comptoir.edm.model import NAMESPACE
from comptoir.plan.apply.stages import ResultColumn
from comptoir.plan.faults import unknown_name, unsupported
from comptoir.request.select import SELECT, SelectItem, parse_select


def bind_select(
    kind: EntityType, text: str, computed: Collection[str] = ()
) -> frozenset[str] | None:
    """The properties that are wanted, computed ones among them; None for all.

    Raises `Refusal`: 400 for what is no property, 501 for a path to another record.
    """
    names: set[str] = set()
    everything = False
    for item in parse_select(text):
        name = _name(kind, item)
        if item.all:
            everything = True
        elif name in kind.by_name or name in computed:
            names.add(name)
        elif name not in kind.related:
            known = [*kind.by_name, *kind.related, *computed]
            raise unknown_name(SELECT, item.position, name, f"property of {kind.name}", known)
    return None if everything else frozenset(names)


def _name(kind: EntityType, item: SelectItem) -> str:
    path = item.path[1:] if item.path[0] == f"{NAMESPACE}.{kind.name}" else item.path
    if len(path) != 1:
        name = "/".join(item.path)[:100]
        raise unsupported(SELECT, item.position, f"selecting {name}, beyond the record itself")
    return path[0]


def bind_result_select(columns: Sequence[ResultColumn], text: str) -> frozenset[str] | None:
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
