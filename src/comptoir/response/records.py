"""Records as JSON (OData JSON Format 4.01, section 7), with their ETags and addresses."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from urllib.parse import quote

import msgspec

from comptoir.edm.model import Company, EntitySet, EntityType, Property
from comptoir.edm.record_json import (
    decoded_tag,
    encoded_tag,
    entity_tag,
    opaque_tag,
    selection,
    struct_of,
    version_of,
    without_version,
)
from comptoir.edm.types import PrimitiveType, Stored, Wire
from comptoir.plan.read import Row, json_of
from comptoir.request.fields import ExpandResult
from comptoir.request.headers import EntityTags, Format, Headers, entity_tags
from comptoir.response.response import ODATA_VERSION, Response, Root

_encode = msgspec.json.Encoder().encode

MINIMAL, NONE, FULL = "minimal", "none", "full"

_CONTROL: Mapping[str, tuple[str, ...]] = {
    MINIMAL: ("@odata.etag",),
    NONE: (),
    FULL: ("@odata.etag", "@odata.type", "@odata.id", "@odata.editLink"),
}
"""The control information of a record, by metadata level (OData JSON Format 4.01, section 3.1)."""

SELF_EVIDENT = frozenset({"Edm.String", "Edm.Boolean"})
"""The types that need no annotation, because their JSON type implies them."""

FEW_COLUMNS = 4
"""The most properties that are read from their columns rather than from the stored JSON."""

Extra = Wire | msgspec.UnsetType | None | msgspec.Struct | Sequence[msgspec.Struct] | msgspec.Raw
"""The value of a field for related records: the records, their number, a link, or nothing."""

Extras = Sequence[Extra]


def _encoded_tag(company: Company | None, version: str | int) -> str:
    """As `entity_tag`, in Base64."""
    return f'W/"{encoded_tag(opaque_tag(company, version))}"'


def decoded_tags(headers: Headers, name: bytes) -> EntityTags | None:
    """As `entity_tags`, of tags in Base64."""
    tags = entity_tags(headers, name)
    return None if tags is None else decoded_opaque(tags)


def decoded_opaque(tags: EntityTags) -> EntityTags:
    """Opaque tags from those in Base64."""
    return EntityTags(any=tags.any, opaque=frozenset(map(decoded_tag, tags.opaque)))


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
    control information, the properties and the related records. A `narrowed` writer writes rows
    that have only the properties of the shape.
    """

    def __init__(
        self,
        root: Root,
        entity_set: EntitySet,
        form: Format,
        shape: RecordShape = WHOLE,
        *,
        narrowed: bool = False,
    ) -> None:
        level = form.level
        self.root = root
        self.entity_set = entity_set
        self.form = form
        self.level = level
        self.shape = shape
        self._selection = shape.selection
        self.media_type = form.media_type
        self.tag = _encoded_tag if entity_set.encodes_tags else entity_tag
        """The tag of a record, by its company and its version."""

        self.tags = decoded_tags if entity_set.encodes_tags else entity_tags
        """The tags in `If-Match` or `If-None-Match`, by the headers and the name; as `tag`."""

        has_json = (
            # the stored JSON begins with the number of a tag that is not encoded
            (level == NONE or (level == MINIMAL and not entity_set.encodes_tags))
            and not form.ieee754
            and entity_set.tracks_changes
            # pages continue after the values in the last record's JSON
            and all(each.type.restores for each in entity_set.type.properties)
        )
        self.fits_json = has_json and shape == WHOLE
        """Whether responses contain the JSON of the records as it is stored."""

        control = ("@odata.id",) if shape.address else _CONTROL[level]
        entity_type = entity_set.type
        fields = _fields(entity_set, form, shape)
        self._sources = [source for _, source in fields]
        streams = entity_type.streams
        has_values_alone = not shape.computed_fields and level != FULL and not streams
        self.narrows = has_values_alone and not shape.address and not shape.nested
        """Whether a narrowed writer can write the records."""

        selected = shape.names or ()
        self.selects_json = (
            has_json
            and self.narrows
            and len(selected) > FEW_COLUMNS
            # a record with a long text may have no stored JSON
            and all(
                not each.is_unlimited or each.name in selected for each in entity_type.properties
            )
        )
        """Whether responses contain properties from the stored JSON, which costs less then."""

        self._whole = has_values_alone and (shape.names is None or narrowed)
        shown = [each for each in streams if shape.names is None or each in shape.names]
        links = [] if shape.address else list(_links(entity_type, shown, level))
        self._linked = [segment for _, segment in links]
        names = [*control, *(name for name, _ in fields), *(name for name, _ in links)]
        for each in shape.nested:
            names += _nested_names(each)
        self._alone = struct_of(
            entity_type.name, names if level == NONE else ["@odata.context", *names]
        )
        self._listed = struct_of(entity_type.name, names)
        self._converted: list[tuple[int, Callable[[Stored], Wire]]] = []
        written = shape.names if narrowed and shape.names is not None else entity_type.by_name
        for number, name in enumerate(written):
            to_wire = wire_form(entity_type.by_name[name].type, form)
            if to_wire is not None:
                self._converted.append((number, to_wire))
        self._key_column = entity_type.column_of[entity_type.key]
        self._end = len(written) + 1
        self._is_bare = self._whole and not (control or links or self._converted)
        self._key_quoted = entity_type.key_property.type.quoted

    def key(self, row: Row) -> Stored:
        """The record's key."""
        return row[self._key_column]

    def link(self, company: Company | None, row: Row) -> str:
        """The URL of the record."""
        return self.root.link(self.path(company, row[self._key_column]))

    def path(self, company: Company | None, key: Stored) -> str:
        """The path, after the service root, of the record with this key."""
        key_part = key_in_path(str(key), is_quoted=self._key_quoted)
        return f"{_set_path(self.entity_set, company)}{key_part}"

    def context(self, company: Company | None) -> str:
        """The context URL of a collection of these records."""
        if self.shape.address:
            return self.root.context("/Collection($ref)")
        return context_url(self.root, self.entity_set, company) + self._selection

    def record(self, company: Company | None, row: Row, extras: Extras = ()) -> bytes:
        """A single record as a JSON object; `extras` are the fields for related records."""
        control = self._control(company, row)
        if self.level != NONE:
            control = (f"{self.context(company)}/$entity", *control)
        links = self._links(company, row)
        return _encode(self._alone(*control, *self._values(row), *links, *extras))

    async def respond(
        self, company: Company | None, json: bytes, *, is_revalidated: bool
    ) -> Response:
        """The response with a record, by its stored JSON; requires `fits_json`."""
        tag, body = self.spliced(company, json)
        headers = [(b"content-type", self.media_type), ODATA_VERSION, (b"etag", tag)]
        return Response(200, headers, body, is_revalidated)

    def spliced(self, company: Company | None, json: bytes) -> tuple[bytes, bytes]:
        """A record's tag, and the record as a JSON object, from its stored JSON.

        Requires `fits_json`.
        """
        if self.level == NONE:
            return self.tag(company, version_of(json)).encode(), b"{%b}" % without_version(json)
        beginning, tag = _beginning(self.root, self.entity_set, company)
        return b'%b%b"' % (tag, json[: json.index(b"\\")]), b"%b%b}" % (beginning, json)

    def records(
        self,
        company: Company | None,
        rows: Sequence[Row],
        extras: Sequence[Extras] = (),
        separator: bytes = b"",
    ) -> bytes:
        """Records of a collection as JSON objects, each after a comma or first `separator`."""
        return separator + _encode(self.structs(company, rows, extras))[1:-1]

    def structs(
        self, company: Company | None, rows: Sequence[Row], extras: Sequence[Extras] = ()
    ) -> list[msgspec.Struct]:
        """Records of a collection, ready to be encoded."""
        shape, values, control = self._listed, self._values, self._control
        if self._is_bare and not extras:
            return [shape(*row[1 : self._end]) for row in rows]
        if not extras and not self._linked:
            return [shape(*control(company, row), *values(row)) for row in rows]
        return [
            shape(*control(company, row), *values(row), *self._links(company, row), *extra)
            for row, extra in zip(rows, extras or [()] * len(rows), strict=True)
        ]

    def reference(self, company: Company | None, row: Row) -> bytes:
        """A reference to the record (OData JSON Format 4.01, section 14)."""
        context = self.root.context("/$ref")
        return _encode({"@odata.context": context, "@odata.id": self.link(company, row)})

    def property(self, company: Company | None, row: Row, declared: Property) -> bytes:
        """One property of the record (OData JSON Format 4.01, section 11)."""
        stored = row[self.entity_set.type.column_of[declared.name]]
        to_wire = wire_form(declared.type, self.form)
        wire = stored if to_wire is None else to_wire(stored)
        if self.level == NONE:
            return _encode({"value": wire})
        path = f"{self.path(company, row[self._key_column])}/{declared.name}"
        return _encode({"@odata.context": self.root.context(path), "value": wire})

    def _links(self, company: Company | None, row: Row) -> list[str]:
        path = self.path(company, row[self._key_column])
        return [self.root.link(f"{path}/{name}") for name in self._linked]

    def _control(self, company: Company | None, row: Row) -> tuple[str, ...]:
        if self.shape.address:
            return (self.link(company, row),)
        if self.level == MINIMAL:
            return (self.tag(company, row[0]),)
        if self.level == NONE:
            return ()
        link = self.link(company, row)
        type_name = f"#{self.entity_set.type.qualified_name}"
        return (self.tag(company, row[0]), type_name, link, link)

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


class JsonWriter:
    """Writes records from their stored JSON, in the format and the shape of `records`.

    `RecordWriter.fits_json` or `selects_json` checks these.
    """

    def __init__(self, records: RecordWriter) -> None:
        names = records.shape.names
        self._select = selection(records.entity_set.type, names) if names else None
        self.level = records.level
        self.context = records.context
        self.form = records.form

    def records(
        self,
        company: Company | None,
        rows: Sequence[Row],
        extras: Sequence[Extras] = (),
        separator: bytes = b"",
    ) -> bytes:
        """Records of a collection as JSON objects, each after a comma or first `separator`."""
        start, encoded = _before_version(company), json_of(rows)
        if self._select is not None:
            encoded = list(map(self._select, encoded))
        if self.level == NONE:
            start, encoded = b"{", list(map(without_version, encoded))
        # joined once, because copies of large bytes take as long as reading them
        encoded[0] = b"%b%b%b" % (separator, start, encoded[0])
        encoded[-1] += b"}"
        return (b"}," + start).join(encoded)


_Source = int | Callable[[Row], Wire | None]
"""The source of a field's value: an index of the row, or a function of the row."""


@lru_cache(1_000)
def _before_version(company: Company | None) -> bytes:
    """The JSON of a record up to the version in its entity tag."""
    return b'{"@odata.etag":' + _encode(entity_tag(company, ""))[:-3]


def wire_form(edm_type: PrimitiveType, form: Format) -> Callable[[Stored], Wire] | None:
    """The function from stored to wire form in a format; None if the two are the same."""
    return edm_type.to_ieee754_wire if form.ieee754 else edm_type.to_wire


def _fields(entity_set: EntitySet, form: Format, shape: RecordShape) -> list[tuple[str, _Source]]:
    entity_type = entity_set.type
    by_name, column_of = entity_type.by_name, entity_type.column_of
    names = by_name if shape.names is None else shape.names
    values = [by_name[name] for name in names if not by_name[name].is_stream]
    columns = [(each.name, each.type, column_of[each.name]) for each in values]
    computed = len(by_name) + 1
    columns += [(each.name, each.type, computed + each.index) for each in shape.computed_fields]
    fields: list[tuple[str, _Source]] = []
    for name, edm_type, column in columns:
        if form.level == FULL and edm_type.edm_name not in SELF_EVIDENT:
            fields.append(
                (f"{name}@odata.type", _constant(f"#{edm_type.edm_name.removeprefix('Edm.')}"))
            )
        fields.append(
            (name, _source(column, wire_form(edm_type, form), may_be_null=column >= computed))
        )
    return fields


def _links(
    entity_type: EntityType, streams: Sequence[str], level: str
) -> Iterator[tuple[str, str]]:
    """The fields with addresses below that of a record, and the segments of these."""
    if level != NONE:
        for each in streams:
            yield f"{each}@odata.mediaEditLink", each
            yield f"{each}@odata.mediaReadLink", each
    if level == FULL:
        for each in entity_type.related:
            yield f"{each}@odata.navigationLink", each


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


def key_in_path(text: str, *, is_quoted: bool) -> str:
    """The key of a record in a path, in parentheses, from its text."""
    if is_quoted:
        text = quote("'" + text.replace("'", "''") + "'", safe="'")
    return f"({text})"


def _set_path(entity_set: EntitySet, company: Company | None) -> str:
    """The path of a set, after the service root."""
    if company is None:
        return f"/{entity_set.name}"
    return f"/companies({company.id})/{entity_set.name}"


@lru_cache(1_000)
def context_url(root: Root, entity_set: EntitySet, company: Company | None) -> str:
    """The context URL of a set's collection (OData Protocol 4.01, section 10.2)."""
    return root.context(_set_path(entity_set, company))


@lru_cache(1_000)
def _beginning(root: Root, entity_set: EntitySet, company: Company | None) -> tuple[bytes, bytes]:
    """The JSON of a single record up to the version in its entity tag, and the tag up to it."""
    context = _encode(f"{context_url(root, entity_set, company)}/$entity")
    tag = entity_tag(company, "")[:-1].encode()
    return b'{"@odata.context":%b,%b' % (context, _before_version(company)[1:]), tag
