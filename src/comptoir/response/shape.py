"""Which parts of a record an answer shows: what `$select`, `$compute` and `$expand` ask for."""

import msgspec

from comptoir.edm.model import EntitySet
from comptoir.edm.primitive import PrimitiveType
from comptoir.request.expand import ExpandKind


class Derived(msgspec.Struct, frozen=True, gc=False):
    """A property that a request computes: its name, its place among those that it computes."""

    name: str
    place: int
    type: PrimitiveType


class Nested(msgspec.Struct, frozen=True, gc=False):
    """Related records within a record: all that one writes depends on, values of filters aside.

    `kind` is `entities`, `ref` (addresses alone) or `count` (their number alone); `counted` asks
    for the number beside the records.
    """

    name: str
    entity_set: EntitySet
    collection: bool
    kind: ExpandKind
    counted: bool
    shape: "RecordShape"


class RecordShape(msgspec.Struct, frozen=True, gc=False):
    """The properties to show, None for all of them; computed ones; related records.

    `address` shows nothing but the record's address.
    """

    names: tuple[str, ...] | None = None
    derived: tuple[Derived, ...] = ()
    nested: tuple[Nested, ...] = ()
    address: bool = False

    @property
    def selection(self) -> str:
        """The shape as a context URL says it (OData Protocol 4.01, section 10.7), maybe empty."""
        shown = [each.name for each in self.derived]
        if self.names is not None:
            shown[:0] = self.names
        elif shown:
            shown.insert(0, "*")
        for each in self.nested:
            if each.kind == "entities":
                shown.append(f"{each.name}{each.shape.selection or '()'}")
        return f"({','.join(shown)})" if shown else ""


WHOLE = RecordShape()
ADDRESS = RecordShape(names=(), address=True)
