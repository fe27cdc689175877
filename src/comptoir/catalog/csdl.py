"""Reads a CSDL document of OData 4.0 or 4.01, in XML or JSON, as elements with their lines.

CSDL JSON becomes the elements of CSDL XML, so that what follows reads one form. expat is used
directly, because it knows the line of each element, and a document type, which may declare
entities, is refused before it is read.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, count
from pathlib import Path
from xml.parsers import expat

import msgspec

from comptoir.config import read_whole
from comptoir.errors import operator_rows as problems
from comptoir.jsonvalue import Json

MOST_BYTES = 64 << 20
"""The most bytes of a document."""

MOST_ELEMENTS = 2_000_000
DEEPEST = 64
"""The most elements of a document in XML, and the most of them that contain each other."""

_EDM = "http://docs.oasis-open.org/odata/ns/edm "
_EDMX = "http://docs.oasis-open.org/odata/ns/edmx "
_OF_ANNOTATION = ("Term", "Qualifier", "Property")
"""The attributes of an annotation, or of a property of a record, that are not its value."""

_INNER = {"EntityType": "Property", "ComplexType": "Property", "EnumType": "Member"}
"""The elements that members of an object in CSDL JSON are, if they have no `$Kind`."""

_IN_CONTAINER = {
    "Collection": "EntitySet",
    "Action": "ActionImport",
    "Function": "FunctionImport",
    "Type": "Singleton",
}
"""The elements that members of a container are, by the first of these members that they have."""


@dataclass(slots=True, eq=False)
class Element:
    """An element of CSDL XML, its line (0 in JSON), and the values of its annotations by terms."""

    kind: str
    attributes: dict[str, str]
    line: int = 0
    children: list["Element"] = field(default_factory=list)
    terms: dict[str, Json] = field(default_factory=dict)
    text: str = ""

    @property
    def name(self) -> str:
        """The name, blank if it has none."""
        return self.attributes.get("Name", "")

    def has(self, attribute: str) -> bool:
        """Whether an attribute is `true`."""
        return self.attributes.get(attribute) == "true"

    def of(self, *kinds: str) -> Iterator["Element"]:
        """The children of some kinds."""
        return (each for each in self.children if each.kind in kinds)


class Document:
    """The `$metadata` in a file: its entity container, types by full names, and operations.

    `namespace_of` maps their full names to namespaces. Raises `OperatorError` if it is not CSDL.
    """

    def __init__(self, path: Path) -> None:
        content = read_whole(path, problems.FILE_OF_METADATA, MOST_BYTES)
        self.name = path.name
        root = _root(path, content)
        schemas = [each for part in root.of("DataServices") for each in part.of("Schema")]
        includes = [each for part in root.of("Reference") for each in part.of("Include")]
        self._namespaces = {
            each.attributes["Alias"]: each.attributes.get("Namespace", "")
            for each in chain(schemas, includes)
            if "Alias" in each.attributes
        }
        self.types: dict[str, Element] = {}
        self.operations: list[Element] = []
        self.container = Element("EntityContainer", {})
        named: dict[str, Element] = {}
        for schema in schemas:
            namespace = schema.attributes.get("Namespace", "")
            for each in schema.children:
                if each.kind in ("Action", "Function"):
                    self.operations.append(each)
                    continue
                full = f"{namespace}.{each.name}"
                named[full] = each
                named |= {f"{full}/{inner.name}": inner for inner in each.children}
                if each.kind == "EntityContainer":
                    if self.container.name:
                        raise problems.NOT_CSDL(path=path, reason="it has several containers")
                    self.container = each
                else:
                    self.types[full] = each
        for each in named.values():
            each.terms = self._terms(each)
        for annotations in chain.from_iterable(schema.of("Annotations") for schema in schemas):
            head, slash, tail = annotations.attributes.get("Target", "").partition("/")
            target = named.get(f"{self.full(head)}{slash}{tail}")
            if target is not None:
                target.terms |= self._terms(annotations)
        if not any(self.container.of("EntitySet")):
            raise problems.NOT_CSDL(path=path, reason="it declares no entity sets")

    def full(self, name: str) -> str:
        """The full name of what a name with a namespace, or its alias, means."""
        prefix, _, simple = name.rpartition(".")
        return f"{self._namespaces.get(prefix, prefix)}.{simple}"

    def _terms(self, element: Element) -> dict[str, Json]:
        return {self.full(term): value for term, value in element.terms.items()}


def _root(path: Path, content: bytes) -> Element:
    start = content[:1024].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    try:
        if start.startswith(b"{"):
            return _from_json(json_object(msgspec.json.decode(content)))
        if b"<html" in start or b"<!doctype html" in start:
            raise ValueError("it is HTML, such as a page to log in")
        return _from_xml(content)
    except (ValueError, expat.ExpatError, msgspec.DecodeError, RecursionError) as error:
        raise problems.NOT_CSDL(path=path, reason=error) from None


def _from_xml(content: bytes) -> Element:
    """The root element of a document in XML; elements of other namespaces are passed over."""
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    opened, numbers = [Element("", {})], count(1)

    def refuse(*_declared: object) -> None:
        raise ValueError("it has a document type, which may declare entities")

    def start(name: str, attributes: dict[str, str]) -> None:
        if len(opened) == 1 and name != f"{_EDMX}Edmx":
            earlier = name.endswith(" Edmx")
            raise ValueError(
                "it is of OData 3 or earlier" if earlier else f"its root element is {name}"
            )
        if len(opened) > DEEPEST or next(numbers) > MOST_ELEMENTS:
            raise ValueError(
                f"it has more than {MOST_ELEMENTS} elements, or {DEEPEST} in each other"
            )
        kind = name.rpartition(" ")[2] if name.startswith((_EDM, _EDMX)) else ""
        opened.append(Element(kind, attributes, parser.CurrentLineNumber))

    def end(_name: str) -> None:
        element = opened.pop()
        if element.kind == "Annotation":
            if "Qualifier" not in element.attributes:
                opened[-1].terms[element.attributes.get("Term", "")] = _value(element)
        elif element.kind:
            opened[-1].children.append(element)

    def add_text(text: str) -> None:
        opened[-1].text += text

    parser.StartDoctypeDeclHandler = refuse
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = add_text
    parser.Parse(content, True)
    return opened[0].children[0]


def _value(element: Element) -> Json:
    """The value of an annotation, of a property of a record, or of an item, as in CSDL JSON.

    A term without a value is true, the default of terms that mark something.
    """
    match element.kind:
        case "Collection":
            return [_value(each) for each in element.children]
        case "Record":
            values = element.of("PropertyValue")
            return {each.attributes.get("Property", ""): _value(each) for each in values}
        case "Annotation" | "PropertyValue":
            if element.children:
                return _value(element.children[0])
            for kind, text in element.attributes.items():
                if kind not in _OF_ANNOTATION:
                    return text == "true" if kind == "Bool" else text
            return True
    return element.text == "true" if element.kind == "Bool" else element.text


def _from_json(document: Mapping[str, Json]) -> Element:
    """The root element of a document in CSDL JSON."""
    if "$Version" not in document:
        raise ValueError("it has no $Version")
    schemas = [
        _schema(name, json_object(each)) for name, each in document.items() if name[:1] != "$"
    ]
    references = json_object(document.get("$Reference")).values()
    included = [
        _element("Include", "", each)
        for reference in references
        for each in json_list(json_object(reference).get("$Include"))
    ]
    parts = [Element("DataServices", {}, 0, schemas), Element("Reference", {}, 0, included)]
    return Element("Edmx", {}, 0, parts)


def _schema(namespace: str, members: Mapping[str, Json]) -> Element:
    schema = _element("Schema", "", {n: each for n, each in members.items() if n[:1] == "$"})
    schema.attributes["Namespace"] = namespace
    for name, each in members.items():
        if name == "$Annotations":
            for target, terms in json_object(each).items():
                schema.children.append(_element("Annotations", "", terms))
                schema.children[-1].attributes["Target"] = target
        elif isinstance(each, list):
            schema.children += [_element("", name, overload) for overload in each]
        elif "@" not in name and name[:1] != "$":
            schema.children.append(_element("", name, each))
    return schema


def _element(kind: str, name: str, given: Json) -> Element:
    """The element of a member of CSDL JSON, whose defaults become those of CSDL XML."""
    members = json_object(given)
    attributes = {
        each[1:]: str(value).lower() if isinstance(value, bool) else str(value)
        for each, value in members.items()
        if each[:1] == "$" and isinstance(value, bool | int | float | str)
    }
    kind = attributes.pop("Kind", kind)
    if kind == "Contained":
        kind = next((each for mark, each in _IN_CONTAINER.items() if mark in attributes), kind)
    is_many = attributes.pop("Collection", "") == "true"
    of_type = attributes.get("Type", "Edm.String")
    attributes |= {
        "Name": attributes.get("Name", name),
        "Type": f"Collection({of_type})" if is_many else of_type,
        "EntityType": of_type,
        "Nullable": attributes.get("Nullable", "false"),
    }
    if kind == "Member":
        attributes["Value"] = str(given)
    terms = {n[1:]: value for n, value in members.items() if n[:1] == "@" and "#" not in n}
    inner = "Contained" if kind == "EntityContainer" else _INNER.get(kind, "")
    children = [
        _element(inner, each, value)
        for each, value in members.items()
        if inner and each[:1] != "$" and "@" not in each
    ]
    return Element(kind, attributes, 0, [*children, *_parts(members)], terms)


def _parts(members: Mapping[str, Json]) -> Iterator[Element]:
    """The children of an element that members with a `$` are in CSDL JSON."""
    keys = [
        {"Name": each if isinstance(each, str) else str(next(iter(json_object(each).values()), ""))}
        for each in json_list(members.get("$Key"))
    ]
    if keys:
        yield Element("Key", {}, 0, [Element("PropertyRef", each) for each in keys])
    for own, other in json_object(members.get("$ReferentialConstraint")).items():
        if "@" not in own:
            pair = {"Property": own, "ReferencedProperty": str(other)}
            yield Element("ReferentialConstraint", pair)
    for path, target in json_object(members.get("$NavigationPropertyBinding")).items():
        yield Element("NavigationPropertyBinding", {"Path": path, "Target": str(target)})
    for each in json_list(members.get("$Parameter")):
        yield _element("Parameter", "", each)


def json_object(given: Json) -> dict[str, Json]:
    """An object of CSDL JSON, empty if it is not one."""
    return given if isinstance(given, dict) else {}


def json_list(given: Json) -> list[Json]:
    """An array of CSDL JSON, empty if it is not one."""
    return given if isinstance(given, list) else []
