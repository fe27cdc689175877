"""Aggregated results to JSON (OData Extension for Data Aggregation 4.0, section 3).

Their rows are transient entities: they have no address, and say so by an `@odata.id` that is null.
"""

from collections.abc import Callable, Mapping, Sequence

import msgspec

from comptoir.edm.model import NAMESPACE, Company, EntitySet
from comptoir.edm.types import Wire
from comptoir.plan.apply.stages import ResultColumn
from comptoir.plan.read import Row
from comptoir.request.headers import Format
from comptoir.response.records import (
    FULL,
    NONE,
    SELF_EVIDENT,
    Extras,
    context_url,
    struct_of,
    wire_form,
)

_encode = msgspec.json.Encoder().encode

_Making = Callable[[Row], Wire | msgspec.Struct | None]
_Tree = dict[str, "int | _Tree"]
"""Names to places in a row, or to what stands within an object of that name."""


class ResultWriter:
    """Writes the rows of a result, those of its columns that are `shown`, in their order.

    What is grouped by along a relation stands in an object of the relation's name.
    """

    def __init__(
        self,
        entity_set: EntitySet,
        form: Format,
        columns: Sequence[ResultColumn],
        shown: frozenset[str] | None,
    ) -> None:
        self.level = form.level
        self._set = entity_set
        self._form = form
        self._columns = columns
        self._tree: _Tree = {}
        for place, each in enumerate(columns):
            if shown is None or each.name in shown:
                _place(self._tree, each.path, place)
        self._row = self._object(self._tree, entity_set.type.name)

    def count(self, number: int) -> Wire:
        """A number of rows, which is an Edm.Int64, as the format has it."""
        return str(number) if self._form.ieee754 else number

    def context(self, base_url: str, company: Company | None) -> str:
        """The context URL of the result (Data Aggregation 4.0, section 3; Protocol, 10.7)."""
        return context_url(base_url, self._set, company) + _selection(self._tree)

    def records(
        self,
        base_url: str,
        company: Company | None,
        rows: Sequence[Row],
        extras: Sequence[Extras] = (),
    ) -> bytes:
        """Rows as JSON objects, separated by commas; nothing stands within them but themselves."""
        make = self._row
        return _encode([make(row) for row in rows])[1:-1]

    def _object(self, tree: _Tree, kind: str | None) -> _Making:
        """What makes an object of a row, at the top one of a `kind`, within it none."""
        names: list[str] = []
        makings: list[_Making] = []
        if kind is not None and self.level != NONE:
            if self.level == FULL:
                names.append("@odata.type")
                makings.append(_constant(f"#{NAMESPACE}.{kind}"))
            names.append("@odata.id")
            makings.append(_constant(None))
        for name, held in tree.items():
            if isinstance(held, int):
                edm_name = self._columns[held].type.edm_name
                if self._shows_type(name, edm_name, at_top=kind is not None):
                    names.append(f"{name}@odata.type")
                    makings.append(_constant(f"#{edm_name.removeprefix('Edm.')}"))
                makings.append(self._value(held))
            else:
                makings.append(_absent_or(self._object(held, None), _places(held)))
            names.append(name)
        shape = struct_of("result", names)
        return lambda row: shape(*[make(row) for make in makings])

    def _shows_type(self, name: str, edm_name: str, *, at_top: bool) -> bool:
        """Whether a value has its type beside it (JSON Format 4.01, section 4.6.3).

        An alias may be the name of a property that is declared with another type.
        """
        declared = self._set.type.by_name.get(name) if at_top else None
        if declared is not None and declared.type.edm_name != edm_name:
            return self.level != NONE
        return self.level == FULL and edm_name not in SELF_EVIDENT

    def _value(self, place: int) -> _Making:
        convert = wire_form(self._columns[place].type, self._form)
        if convert is None:
            return lambda row: row[place]
        return lambda row: None if row[place] is None else convert(row[place])


def _place(tree: _Tree, path: Sequence[str], place: int) -> None:
    for segment in path[:-1]:
        inner = tree.setdefault(segment, {})
        if isinstance(inner, int):
            raise LookupError(f"{segment} is a value and has none within it")
        tree = inner
    tree[path[-1]] = place


def _places(tree: Mapping[str, "int | _Tree"]) -> list[int]:
    found: list[int] = []
    for held in tree.values():
        found += [held] if isinstance(held, int) else _places(held)
    return found


def _absent_or(make: _Making, places: Sequence[int]) -> _Making:
    """What makes null where a row has no related record: properties are never null."""
    return lambda row: None if all(row[place] is None for place in places) else make(row)


def _constant(value: str | None) -> _Making:
    return lambda _: value


def _selection(tree: Mapping[str, "int | _Tree"]) -> str:
    names = [
        name if isinstance(held, int) else f"{name}{_selection(held)}"
        for name, held in tree.items()
    ]
    return f"({','.join(names)})"
