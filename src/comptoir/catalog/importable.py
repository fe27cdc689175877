"""The parts of a CSDL document that a catalog can have: sets and their types; and what is lost."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from comptoir.catalog import MODEL
from comptoir.catalog.building import RESERVED_PROPERTIES, RESERVED_SETS, TYPES, family_of
from comptoir.catalog.csdl import Document, Element, json_list, json_object
from comptoir.catalog.options import PropertyOptions, SetOptions
from comptoir.catalog.source import LONGEST, NAME, NAME_BYTES
from comptoir.edm.numbers import PRECISION, SCALE, WHOLE_DIGITS
from comptoir.edm.types import TEXT_LENGTH, UNIQUE_TEXT_LENGTH
from comptoir.errors import operator_rows as problems
from comptoir.errors.messages import suggestion
from comptoir.errors.refusal import OperatorError
from comptoir.jsonvalue import Json

_ALTERNATE_KEYS = "Org.OData.Core.V1.AlternateKeys"
_PERMISSIONS = "Org.OData.Core.V1.Permissions"
_NO_PERMISSION = ("None", "Org.OData.Core.V1.Permission/None")
_KEY_TYPES = ("Guid", "Int32", "String")
_DECIMAL = f"Decimal({PRECISION},{SCALE})"
_TYPES: Mapping[str, str] = {
    **{f"Edm.{each}": each for each in TYPES if each not in ("String", "Base64")},
    **dict.fromkeys(("Edm.Byte", "Edm.SByte", "Edm.Int16"), "Int32"),
    "Edm.Int64": f"Decimal({WHOLE_DIGITS},0)",
    **dict.fromkeys(("Edm.Single", "Edm.Double"), _DECIMAL),
}
"""The types of the catalog that are the same as those without facets, or the nearest ones."""

_RESERVED = frozenset(each.lower() for each in RESERVED_SETS)
_NUMBER = re.compile(r"\d{1,9}", re.ASCII)


class ImportedMember(NamedTuple):
    """A property or a navigation property, and what is lost.

    `type` is that of a property in the catalog, blank if it is not served.
    """

    element: Element
    type: str = ""
    loss: OperatorError | None = None


@dataclass(slots=True, eq=False)
class ServedSet:
    """A set that is served: its entity type, the members of it, and its alternate keys.

    Those of `lost` have types that keys cannot have.
    """

    element: Element
    type: Element
    key: str
    unique: Sequence[tuple[str, ...]]
    lost: Sequence[tuple[str, ...]]
    members: Sequence[ImportedMember]
    types: Mapping[str, str]
    """The types of the served properties."""

    def of(self, kind: str) -> Sequence[ImportedMember]:
        """The members of a kind."""
        return [each for each in self.members if each.element.kind == kind]


class Importable:
    """The sets of a document that are served, by their names, and why the others are not.

    `only` names some of them; raises `OperatorError` if the document does not have one.
    """

    def __init__(self, document: Document, only: Sequence[str]) -> None:
        self._document = document
        names = [*(each.rpartition(".")[2] for each in document.types), *TYPES, "Decimal"]
        self._taken = Counter(each.lower() for each in (*names, document.container.name))
        self._verdicts: dict[str, bool] = {}
        self._names: dict[str, str] = {}
        found = {each.name: each for each in document.container.of("EntitySet")}
        self.companies = found.pop(MODEL.companies.name, None)
        if self.companies is not None:
            self._add_contained(self.companies, found)
        for name in only:
            if name not in found:
                suggested, listed = suggestion(name, found), ", ".join(found)
                raise problems.UNKNOWN_NAME(
                    suggested=suggested, what="entity set", name=name, listed=listed
                )
        self.chosen = [each for name, each in found.items() if not only or name in only]
        namespaces = Counter(_namespace(self.type_of(each)) for each in self.chosen)
        self.namespace = next(iter(namespaces.most_common(1)), ("", 0))[0]
        self.enums: dict[str, Element] = {}
        """The enumerations that properties have as their types."""

        self.sets: dict[str, ServedSet] = {}
        self.set_of: dict[str, str] = {}
        """The sets by the full names of their types."""

        self.refused: dict[str, OperatorError] = {}
        for each in self.chosen:
            judged = self._judged(each)
            if isinstance(judged, ServedSet):
                self.sets[each.name] = judged
                self.set_of[self.type_of(each)] = each.name
            else:
                self.refused[each.name] = judged

    def type_of(self, entity_set: Element) -> str:
        """The full name of the type of a set."""
        return self._document.full(entity_set.attributes.get("EntityType", ""))

    def target(self, element: Element) -> tuple[str, bool]:
        """The full name of the type of a navigation property or parameter; whether it is many."""
        declared = element.attributes.get("Type", "")
        inner = declared.removeprefix("Collection(").removesuffix(")")
        return self._document.full(inner), inner != declared

    def members(self, full: str) -> Sequence[Element]:
        """The properties and navigation properties of a type, after those of its base types."""
        parts = reversed(list(self._bases(full)))
        return [each for part in parts for each in part.of("Property", "NavigationProperty")]

    def pair(
        self, entity_set: ServedSet, navigation: Element, target: str
    ) -> tuple[str, str] | None:
        """The property of a set and that of another one whose values a navigation compares."""
        other = self.sets[target]
        pairs = _pairs(navigation)
        partner = navigation.attributes.get("Partner")
        if not pairs and partner:
            opposite = (one for one, _, _ in other.members if one.name == partner)
            pairs = [(own, theirs) for each in opposite for theirs, own in _pairs(each)]
        if len(pairs) != 1:
            return None
        own, theirs = pairs[0]
        kinds = {family_of(entity_set.types.get(own, "")), family_of(other.types.get(theirs, ""))}
        return (own, theirs) if len(kinds) == 1 and "" not in kinds else None

    def _add_contained(self, companies: Element, found: dict[str, Element]) -> None:
        """Add the sets that companies contain; what is announced there is what counts."""
        for each in self.members(self.type_of(companies)):
            full, is_many = self.target(each)
            if each.kind == "NavigationProperty" and is_many:
                known = Element("EntitySet", {"Name": each.name, "EntityType": full}, each.line)
                found.setdefault(each.name, known).terms |= each.terms

    def _bases(self, full: str) -> Iterator[Element]:
        """An entity type, and the types that it is derived from."""
        seen: list[str] = []
        while full in self._document.types and full not in seen:
            seen.append(full)
            element = self._document.types[full]
            yield element
            full = self._document.full(element.attributes.get("BaseType", ""))

    def _judged(self, element: Element) -> ServedSet | OperatorError:
        name, full = element.name, self.type_of(element)
        fault = name_fault(name, self._names, LONGEST[SetOptions])
        if fault is not None:
            return fault
        if name.lower() in _RESERVED:
            return problems.SERVICE_NAME(name=name)
        declared = self._document.types.get(full)
        if declared is None or _namespace(full) != self.namespace:
            return problems.OTHER_NAMESPACE(name=name, type=full, namespace=self.namespace)
        if full in self.set_of:
            return problems.SAME_TYPE(name=name, type=full, other=self.set_of[full])
        parts = [key for part in self._bases(full) for key in part.of("Key")]
        keys = [each.name for key in parts for each in key.of("PropertyRef")]
        declared_members = self.members(full)
        key = next((each for each in declared_members if [each.name] == keys), None)
        if key is None:
            return problems.NOT_ONE_KEY(name=name, key=", ".join(keys) or "nothing")
        unique = [names for names in _alternate_keys(declared.terms) if names != (key.name,)]
        identifying = {key.name, *chain.from_iterable(unique)}
        members = list(self._members(declared.name, declared_members, identifying))
        types = {one.name: edm_type for one, edm_type, _ in members if edm_type}
        key_types = (*_KEY_TYPES, *self.enums)
        keyed = {each for each, edm_type in types.items() if family_of(edm_type) in key_types}
        if key.name not in keyed:
            return problems.NOT_A_KEY(name=name, key=key.name, type=key.attributes.get("Type", ""))
        served = [names for names in unique if keyed.issuperset(names)]
        lost = [names for names in unique if names not in served]
        return ServedSet(element, declared, key.name, served, lost, members, types)

    def _members(
        self, owner: str, members: Sequence[Element], identifying: set[str]
    ) -> Iterator[ImportedMember]:
        names = {each: each for each in RESERVED_PROPERTIES}
        for each in members:
            name = f"{owner}/{each.name}"
            fault = name_fault(each.name, names, LONGEST[PropertyOptions])
            if fault is None and each.terms.get(_PERMISSIONS) in _NO_PERMISSION:
                fault = problems.NOT_SERVED(name=name, what="a property that no record has")
            if fault is not None or each.kind != "Property":
                yield ImportedMember(each, "", fault)
            else:
                yield self._property(name, each, is_key=each.name in identifying)

    def _property(self, name: str, element: Element, *, is_key: bool) -> ImportedMember:
        declared, facets = element.attributes.get("Type", ""), element.attributes
        definition = self._document.types.get(self._document.full(declared))
        if definition is not None and definition.kind == "TypeDefinition":
            declared = definition.attributes.get("UnderlyingType", "")
            facets = {**definition.attributes, **facets}
        length, fits = "", True
        if declared == "Edm.String":
            count = _number(facets, "MaxLength")
            most = UNIQUE_TEXT_LENGTH if is_key else TEXT_LENGTH
            length = f" of {count} characters" if count else ""
            fits = count <= most and (count > 0 or not is_key)
            count = count if fits and count else most
            served = "String" if count == TEXT_LENGTH else f"String({count})"
        elif declared == "Edm.Decimal":
            served, fits = _decimal(facets)
            length = " of more digits"
        elif definition is not None and self._has_enum(self._document.full(declared), definition):
            served = definition.name
        else:
            served = _TYPES.get(declared, "")
            fits = declared == f"Edm.{served}"
        loss = None
        if not served:
            loss = problems.LOST_TYPE(name=name, type=declared)
        elif not fits:
            loss = problems.NARROWED(name=name, former=f"{declared}{length}", type=served)
        return ImportedMember(element, served, loss)

    def _has_enum(self, full: str, definition: Element) -> bool:
        """Whether an enumeration is served; it then is one of `enums`."""
        if full not in self._verdicts:
            names: dict[str, str] = {}
            members = [each.name for each in definition.of("Member")]
            is_served = (
                definition.kind == "EnumType"
                and _namespace(full) == self.namespace
                and not definition.has("IsFlags")
                and self._taken[definition.name.lower()] == 1
                and name_fault(definition.name, {}) is None
                and all(name_fault(each, names) is None for each in members)
                and 0 < max(map(len, members), default=0) <= UNIQUE_TEXT_LENGTH
            )
            self._verdicts[full] = is_served
            self.enums |= {definition.name: definition} if is_served else {}
        return self._verdicts[full]


def name_fault(name: str, names: dict[str, str], most: int = NAME_BYTES) -> OperatorError | None:
    """Why a name cannot be one of others, by their lower case; without a fault it becomes one."""
    if not NAME.fullmatch(name) or len(name.encode()) > most:
        return problems.NOT_AN_IDENTIFIER(name=name, most=most)
    other = names.get(name.lower())
    names.setdefault(name.lower(), name)
    return None if other is None else problems.SAME_NAME(name=name, other=other)


def _namespace(full: str) -> str:
    return full.rpartition(".")[0]


def _pairs(navigation: Element) -> list[tuple[str, str]]:
    return [
        (each.attributes.get("Property", ""), each.attributes.get("ReferencedProperty", ""))
        for each in navigation.of("ReferentialConstraint")
    ]


def _alternate_keys(terms: Mapping[str, Json]) -> Iterator[tuple[str, ...]]:
    """The properties of each alternate key."""
    for each in json_list(terms.get(_ALTERNATE_KEYS)):
        parts = json_list(json_object(each).get("Key"))
        yield tuple(str(json_object(part).get("Name")) for part in parts)


def _decimal(facets: Mapping[str, str]) -> tuple[str, bool]:
    """The type for a decimal number, and whether it has as many digits."""
    precision, scale = _number(facets, "Precision"), _number(facets, "Scale")
    is_variable = not _NUMBER.fullmatch(facets.get("Scale", "0" if precision else ""))
    if not precision and is_variable:
        return _DECIMAL, True
    whole = precision - scale if precision else WHOLE_DIGITS
    if is_variable or scale > SCALE or not 0 <= whole <= WHOLE_DIGITS:
        return _DECIMAL, False
    return f"Decimal({whole + scale},{scale})", True


def _number(facets: Mapping[str, str], name: str) -> int:
    """A facet that is a number; 0 if it is not."""
    text = facets.get(name, "")
    return int(text) if _NUMBER.fullmatch(text) else 0
