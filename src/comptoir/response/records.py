"""Records as JSON (OData JSON Format 4.01, section 7), with their ETags and addresses.

An entity tag (RFC 9110, section 8.8.3) is weak and identifies a version of a record. It consists of
the company's incarnation and the number of the record's last change.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from urllib.parse import quote

import msgspec

from comptoir.edm.model import NAMESPACE, Company, EntitySet, Property
from comptoir.edm.types import PrimitiveType, Stored, Wire
from comptoir.plan.read import Row
from comptoir.request.expand import ExpandResult
from comptoir.request.headers import Format

_encode = msgspec.json.Encoder().encode

MINIMAL, NONE, FULL = "minimal", "none", "full"

_CONTROL: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        MINIMAL: ("@odata.etag",),
        NONE: (),
        FULL: ("@odata.etag", "@odata.type", "@odata.id", "@odata.editLink"),
    }
)
"""The control information of a record, by metadata level (OData JSON Format 4.01, section 3.1)."""

SELF_EVIDENT = frozenset({"Edm.String", "Edm.Boolean"})
"""The types that need no annotation, because their JSON type implies them."""

Extra = Wire | msgspec.UnsetType | None | msgspec.Struct | Sequence[msgspec.Struct] | msgspec.Raw
"""The value of a field for related records: the records, their number, a link, or nothing."""

Extras = Sequence[Extra]


def opaque_tag(company: Company | None, version: str | int) -> str:
    """The tag without `W/` and quotes; without a company, the version is the tag."""
    return f"{company.incarnation}.{version}" if company else str(version)


def entity_tag(company: Company | None, version: str | int) -> str:
    """The tag as in headers and `@odata.etag`."""
    return f'W/"{opaque_tag(company, version)}"'


class ComputedField(msgspec.Struct, frozen=True, gc=False):
    """A computed property, and its index among the computed properties of a row."""

    name: str
    index: int
    type: PrimitiveType


class Nested(msgspec.Struct, frozen=True, gc=False):
    """Related records within a record.

    `result` is `entities`, `ref` (references only) or `count` (the count only). With `counted`
    the count is next to the records.
    """

    name: str
    entity_set: EntitySet
    collection: bool
    result: ExpandResult
    counted: bool
    shape: "RecordShape"


class RecordShape(msgspec.Struct, frozen=True, gc=False):
    """The properties of a record to write (None for all), and its computed and related ones.

    With `address` the record is written as a reference.
    """

    names: tuple[str, ...] | None = None
    computed_fields: tuple[ComputedField, ...] = ()
    nested: tuple[Nested, ...] = ()
    address: bool = False

    @property
    def selection(self) -> str:
        """The select list of a context URL (OData Protocol 4.01, section 10.7); may be empty."""
        shown = [each.name for each in self.computed_fields]
        if self.names is not None:
            shown[:0] = self.names
        elif shown:
            shown.insert(0, "*")
        for each in self.nested:
            if each.result == "entities":
                shown.append(f"{each.name}{each.shape.selection or '()'}")
        return f"({','.join(shown)})" if shown else ""


WHOLE = RecordShape()
ADDRESS = RecordShape(names=(), address=True)


class RecordWriter:
    """Writes the records of a set in one shape and one format.

    The encoder writes a generated struct, which is faster than a dictionary. Its fields are the
    control information, the properties and the related records.
    """

    def __init__(
        self, base_url: str, entity_set: EntitySet, form: Format, shape: RecordShape = WHOLE
    ) -> None:
        level = form.level
        self.base_url = base_url
        self.entity_set = entity_set
        self.form = form
        self.level = level
        self.shape = shape
        self.media_type = form.media_type
        control = ("@odata.id",) if shape.address else _CONTROL[level]
        entity_type = entity_set.type
        fields = _fields(entity_set, form, shape)
        self._sources = [source for _, source in fields]
        self._whole = shape.names is None and not shape.computed_fields and level != FULL
        self._linked = tuple(entity_type.related) if level == FULL and not shape.address else ()
        names = [*control, *(name for name, _ in fields)]
        names += [f"{each}@odata.navigationLink" for each in self._linked]
        for each in shape.nested:
            names += _nested_names(each)
        self._alone = struct_of(
            entity_type.name, names if level == NONE else ["@odata.context", *names]
        )
        self._listed = struct_of(entity_type.name, names)
        self._converted: list[tuple[int, Callable[[Stored], Wire]]] = []
        for number, declared in enumerate(entity_type.properties):
            to_wire = wire_form(declared.type, form)
            if to_wire is not None:
                self._converted.append((number, to_wire))
        self._key_column = entity_type.column_of[entity_type.key]
        self._end = len(entity_type.properties) + 1
        self._key_quoted = entity_type.key_property.type.quoted

    def key(self, row: Row) -> Stored:
        """The record's key."""
        return row[self._key_column]

    def link(self, company: Company | None, row: Row) -> str:
        """The URL of the record."""
        return f"{self.base_url}{self.path(company, row[self._key_column])}"

    def path(self, company: Company | None, key: Stored) -> str:
        """The path, after the base URL, of the record with this key."""
        text = str(key)
        if self._key_quoted:
            text = quote("'" + text.replace("'", "''") + "'", safe="'")
        return f"{_set_path(self.entity_set, company)}({text})"

    def count(self, number: int) -> Wire:
        """A number of records, which is an Edm.Int64, in wire form."""
        return str(number) if self.form.ieee754 else number

    def context(self, company: Company | None) -> str:
        """The context URL of a collection of these records."""
        if self.shape.address:
            return f"{self.base_url}/$metadata#Collection($ref)"
        return context_url(self.base_url, self.entity_set, company) + self.shape.selection

    def record(self, company: Company | None, row: Row, extras: Extras = ()) -> bytes:
        """A single record as a JSON object; `extras` are the fields for related records."""
        control = self._control(company, row)
        if self.level != NONE:
            control = (f"{self.context(company)}/$entity", *control)
        links = self._links(company, row)
        return _encode(self._alone(*control, *self._values(row), *links, *extras))

    def records(
        self, company: Company | None, rows: Sequence[Row], extras: Sequence[Extras] = ()
    ) -> bytes:
        """Records of a collection as JSON objects, separated by commas."""
        return _encode(self.structs(company, rows, extras))[1:-1]

    def structs(
        self, company: Company | None, rows: Sequence[Row], extras: Sequence[Extras] = ()
    ) -> list[msgspec.Struct]:
        """Records of a collection, ready to be encoded."""
        shape, values, control = self._listed, self._values, self._control
        if not extras and not self._linked:
            return [shape(*control(company, row), *values(row)) for row in rows]
        return [
            shape(
                *control(company, row),
                *values(row),
                *self._links(company, row),
                *extra,
            )
            for row, extra in zip(rows, extras or [()] * len(rows), strict=True)
        ]

    def reference(self, company: Company | None, row: Row) -> bytes:
        """A reference to the record (OData JSON Format 4.01, section 14)."""
        context = f"{self.base_url}/$metadata#$ref"
        return _encode({"@odata.context": context, "@odata.id": self.link(company, row)})

    def property(self, company: Company | None, row: Row, declared: Property) -> bytes:
        """One property of the record (OData JSON Format 4.01, section 11)."""
        stored = row[self.entity_set.type.column_of[declared.name]]
        to_wire = wire_form(declared.type, self.form)
        wire = stored if to_wire is None else to_wire(stored)
        if self.level == NONE:
            return _encode({"value": wire})
        path = f"{self.path(company, row[self._key_column])[1:]}/{declared.name}"
        return _encode({"@odata.context": f"{self.base_url}/$metadata#{path}", "value": wire})

    def _links(self, company: Company | None, row: Row) -> list[str]:
        return [f"{self.link(company, row)}/{name}" for name in self._linked]

    def _control(self, company: Company | None, row: Row) -> tuple[str, ...]:
        if self.shape.address:
            return (self.link(company, row),)
        if self.level == MINIMAL:
            return (entity_tag(company, row[0]),)
        if self.level == NONE:
            return ()
        link = self.link(company, row)
        type_name = f"#{NAMESPACE}.{self.entity_set.type.name}"
        return (entity_tag(company, row[0]), type_name, link, link)

    def _values(self, row: Row) -> Sequence[Stored | Wire | None]:
        if not self._whole:
            return [
                row[source] if isinstance(source, int) else source(row) for source in self._sources
            ]
        if not self._converted:
            return row[1 : self._end]
        values: list[Stored | Wire] = list(row[1 : self._end])
        for number, to_wire in self._converted:
            values[number] = to_wire(row[number + 1])
        return values


_Source = int | Callable[[Row], Wire | None]
"""The source of a field's value: an index of the row, or a function of the row."""


def wire_form(edm_type: PrimitiveType, form: Format) -> Callable[[Stored], Wire] | None:
    """The function from stored to wire form in a format; None if the two are the same."""
    return edm_type.to_ieee754_wire if form.ieee754 else edm_type.to_wire


def _fields(entity_set: EntitySet, form: Format, shape: RecordShape) -> list[tuple[str, _Source]]:
    entity_type = entity_set.type
    by_name, column_of = entity_type.by_name, entity_type.column_of
    names = by_name if shape.names is None else shape.names
    columns = [(name, by_name[name].type, column_of[name]) for name in names]
    computed = len(by_name) + 1
    columns += [(each.name, each.type, computed + each.index) for each in shape.computed_fields]
    fields: list[tuple[str, _Source]] = []
    for name, edm_type, column in columns:
        if form.level == FULL and edm_type.edm_name not in SELF_EVIDENT:
            fields.append((f"{name}@odata.type", _constant(f"#{edm_type.edm_name[4:]}")))
        fields.append(
            (name, _source(column, wire_form(edm_type, form), may_be_null=column >= computed))
        )
    return fields


def _source(column: int, to_wire: Callable[[Stored], Wire] | None, *, may_be_null: bool) -> _Source:
    if to_wire is None:
        return column
    if may_be_null:
        return lambda row: None if row[column] is None else to_wire(row[column])
    return lambda row: to_wire(row[column])


def _constant(text: str) -> Callable[[Row], Wire]:
    return lambda _: text


def _nested_names(nested: Nested) -> Iterator[str]:
    """The fields of related records, in the order of `Extras`."""
    if nested.counted or nested.result == "count":
        yield f"{nested.name}@odata.count"
    if nested.result != "count":
        if nested.collection:
            yield f"{nested.name}@odata.nextLink"
        yield nested.name


def struct_of(name: str, names: Sequence[str]) -> type[msgspec.Struct]:
    """A struct whose fields have these names in JSON."""
    fields = [f"field_{number}" for number in range(len(names))]
    return msgspec.defstruct(
        f"{name}_record", fields, rename=dict(zip(fields, names, strict=True)), gc=False
    )


def _set_path(entity_set: EntitySet, company: Company | None) -> str:
    """The path of a set, after the base URL."""
    if company is None:
        return f"/{entity_set.name}"
    return f"/companies({company.id})/{entity_set.name}"


@lru_cache(1_000)
def context_url(base_url: str, entity_set: EntitySet, company: Company | None) -> str:
    """The context URL of a set's collection (OData Protocol 4.01, section 10.2)."""
    return f"{base_url}/$metadata#{_set_path(entity_set, company)[1:]}"
