"""A description as CSDL JSON (OData CSDL JSON Representation 4.01)."""

import msgspec

from comptoir.metadata.csdl.description import (
    Annotation,
    Annotations,
    Description,
    Member,
    NavigationElement,
    PropertyElement,
    PropertyPath,
    Record,
    SetElement,
    TypeElement,
    Value,
    full_name,
)

_STRING = "Edm.String"

_Object = dict[str, object]


def csdl_json(description: Description) -> bytes:
    """Write a description as JSON. What has its default value is left out."""
    return msgspec.json.encode(_Writer(description).document())


class _Writer:
    def __init__(self, description: Description) -> None:
        self._described = description
        self._namespace = description.namespace
        self._urls = {each.name: f"{each.url}.json" for each in description.vocabularies}

    def document(self) -> _Object:
        described, namespace = self._described, self._namespace
        schema = {each.name: self._type(each) for each in described.types}
        schema[described.container] = {
            "$Kind": "EntityContainer",
            **{each.name: self._set(each) for each in described.sets},
            **self._annotations(described.annotations),
        }
        return {
            "$Version": "4.01",
            "$EntityContainer": f"{namespace}.{described.container}",
            "$Reference": {
                self._urls[each.name]: {"$Include": [{"$Namespace": each.namespace}]}
                for each in described.vocabularies
            },
            namespace: schema,
        }

    def _type(self, kind: TypeElement) -> _Object:
        return {
            "$Kind": "EntityType",
            "$Key": [kind.key],
            **{each.name: self._property(each) for each in kind.properties},
            **{each.name: self._navigation(each) for each in kind.navigation},
            **self._annotations(kind.annotations),
        }

    def _property(self, held: PropertyElement) -> _Object:
        written: _Object = {}
        if held.type != _STRING:
            written["$Type"] = held.type
        if held.nullable:
            written["$Nullable"] = True
        facets = {f"${name}": value for name, value in held.facets.items()}
        return {**written, **facets, **self._annotations(held.annotations)}

    def _navigation(self, held: NavigationElement) -> _Object:
        kind = f"{self._namespace}.{held.type}"
        written: _Object = {"$Kind": "NavigationProperty", "$Type": kind}
        written["$Collection" if held.collection else "$Nullable"] = True
        if held.partner:
            written["$Partner"] = held.partner
        if held.contains:
            written["$ContainsTarget"] = True
        return {**written, **self._annotations(held.annotations)}

    def _set(self, held: SetElement) -> _Object:
        written: _Object = {"$Collection": True, "$Type": f"{self._namespace}.{held.type}"}
        if not held.in_service_document:
            written["$IncludeInServiceDocument"] = False
        if held.bindings:
            written["$NavigationPropertyBinding"] = held.bindings
        return {**written, **self._annotations(held.annotations)}

    def _annotations(self, annotations: Annotations) -> _Object:
        return {f"@{_term(each)}": self._value(each.value) for each in annotations}

    def _value(self, value: Value) -> object:
        if isinstance(value, tuple):
            return [self._value(each) for each in value]
        if isinstance(value, Record):
            written = {name: self._value(held) for name, held in value.values.items()}
            if not value.type:
                return written
            url = self._urls[value.type.partition(".")[0]]
            return {"@type": f"{url}#{full_name(value.type)}", **written}
        if isinstance(value, PropertyPath | Member):
            return value.name
        return value


def _term(applied: Annotation) -> str:
    qualifier = f"#{applied.qualifier}" if applied.qualifier else ""
    return full_name(applied.term) + qualifier
