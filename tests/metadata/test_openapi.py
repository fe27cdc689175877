"""The OpenAPI document has every path and method with its schemas."""

import dataclasses
from collections.abc import Container, Iterator
from functools import cache
from typing import cast

import msgspec
from jsonschema_rs import Draft202012Validator

from comptoir.catalog import MODEL
from comptoir.config import Settings
from comptoir.edm.model import EntitySet, Model
from comptoir.errors.table import ERROR_TABLE
from comptoir.metadata.openapi import openapi_document
from metadata.reading import ANNOUNCED, Object, Value, member
from support.contract import FIELDS
from support.programs import needed_module
from support.specimen import WITH_SPECIMENS
from support.subjects import every_option
from support.together import together

METHODS = ("get", "post", "patch", "put", "delete")
SETS = together("entity_set", MODEL.sets)


def document(model: Model = MODEL) -> Object:
    return cast("Object", msgspec.json.decode(openapi_document(model, Settings(), ANNOUNCED)))


@cache
def whole() -> Object:
    """The document of the model, which tests must not change."""
    return document()


def operations() -> Iterator[tuple[str, Object]]:
    """Every operation of a path, with its method."""
    for path in member(whole(), "paths"):
        item = member(whole(), "paths", path)
        yield from [(method, member(item, method)) for method in METHODS if method in item]


def methods(path: str) -> set[str]:
    item = member(whole(), "paths").get(path, {})
    assert isinstance(item, dict)
    return set(item) & set(METHODS)


def walk(value: Value) -> Iterator[Object]:
    if isinstance(value, dict):
        yield value
    if isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from walk(each)


def address(entity_set: EntitySet) -> str:
    prefix = "/companies({company_id})" if entity_set.per_company else ""
    return f"{prefix}/{entity_set.name}"


def one(entity_set: EntitySet) -> str:
    key = entity_set.type.key if entity_set.per_company else "company_id"
    placed = f"'{{{key}}}'" if entity_set.type.key_property.type.quoted else f"{{{key}}}"
    return f"{address(entity_set)}({placed})"


def _within(entity_set: EntitySet, names: Container[str]) -> EntitySet:
    """A set without the navigation properties that lead to others than those with some names."""
    kept = [each for each in entity_set.type.navigation if each.target in names]
    trimmed = dataclasses.replace(entity_set.type, navigation=tuple(kept))
    return dataclasses.replace(entity_set, type=trimmed)


def test_it_is_valid_openapi_3_1() -> None:
    """By its JSON schema, and by all rules for the paths of some sets, which takes long."""
    validator = needed_module("openapi_spec_validator", "openapi-spec-validator")
    by_schema = Draft202012Validator(dict(validator.schemas.schema_v31))
    for each in (WITH_SPECIMENS, every_option()):
        by_schema.validate(document(each))

    some = ("companies", "specimensExt", "contactsExt", "unitsOfMeasureExt", "signs", "traits")
    for model in (WITH_SPECIMENS, every_option()):
        sets = (each for each in model.sets if each.name in some)
        part = Model(tuple([_within(each, some) for each in sets]))
        validator.OpenAPIV31SpecValidator(document(part)).validate()


def test_every_reference_can_be_resolved() -> None:
    targets = {each["$ref"] for each in walk(whole()) if "$ref" in each}
    for target in targets:
        member(whole(), *str(target).removeprefix("#/").split("/"))
    assert len(targets) > 50


@SETS
def test_a_set_has_its_paths_and_methods(entity_set: EntitySet) -> None:
    many, record = address(entity_set), one(entity_set)
    assert methods(many) == ({"get"} if entity_set.read_only else {"get", "post"})
    assert methods(record) == ({"get"} if entity_set.read_only else set(METHODS) - {"post"})
    values = (f"{record}/{{property}}", f"{record}/{{property}}/$value")
    for path in (f"{many}/$count", f"{many}/$ref", f"{record}/$ref", *values):
        assert methods(path) == {"get"}
    for relation in entity_set.type.navigation:
        assert methods(f"{record}/{relation.name}") == {"get"}
        counted = methods(f"{record}/{relation.name}/$count")
        assert counted == ({"get"} if relation.collection else set())


def test_every_body_has_a_schema() -> None:
    """Generators of clients skip bodies without a schema, or fail."""
    bodies = [each for part in walk(whole()) for each in walk(part.get("content", {}))]
    listed = [
        member(found, media_type) for found in bodies for media_type in found if "/" in media_type
    ]
    assert len(listed) > 100
    assert all("schema" in each for each in listed)


def test_the_variables_of_a_path_are_declared_once_each() -> None:
    for path in member(whole(), "paths"):
        declared = member(whole(), "paths", path).get("parameters", [])
        assert isinstance(declared, list)
        names = [str(member(cast("Object", each))["name"]) for each in declared]
        assert sorted(names) == sorted({name for name in names if f"{{{name}}}" in path})
        assert path.count("{") == len(names)


def test_operation_ids_are_unique() -> None:
    names = [operation["operationId"] for _, operation in operations()]
    assert len(names) == len(set(map(str, names)))


@together("resource", FIELDS)
def test_a_record_has_the_properties_of_the_interface_in_order(resource: str) -> None:
    entity_type = MODEL.by_name[resource].type
    properties = member(whole(), "components", "schemas", entity_type.name, "properties")
    related = {each.name for each in entity_type.navigation}
    fields = [name for name in properties if "@" not in name and name not in related]
    assert fields == list(FIELDS[resource])
    types = {
        "string": ("string", None),
        "guid": ("string", "uuid"),
        "date": ("string", "date"),
        "instant": ("string", "date-time"),
        "boolean": ("boolean", None),
        "integer": ("integer", "int32"),
        "number": ("number", "decimal"),
    }
    for name, wire in FIELDS[resource].items():
        found = member(properties, name)
        assert (found["type"], found.get("format")) == types[wire]


def test_writes_have_the_headers_of_guards_and_repeats() -> None:
    for method, operation in operations():
        references = str(operation.get("parameters", []))
        assert ("'#/components/parameters/If-Match'" in references) is (
            method in ("patch", "delete") or operation["operationId"] == "unitsOfMeasureExt-create"
        )
        for header in ("Repeatability-Request-ID", "Repeatability-First-Sent"):
            assert (header in references) is (method != "get")


def test_operations_name_the_required_scope() -> None:
    for method, operation in operations():
        if operation["tags"] == ["service"]:
            assert "security" not in operation
        else:
            scope = "records.read" if method == "get" else "records.write"
            assert operation["security"] == [{"oauth2": [scope]}, {"bearer": [scope]}]
    assert whole()["security"] == [{"oauth2": []}, {"bearer": []}]


def test_every_error_has_its_meaning_and_remedy() -> None:
    responses = member(whole(), "components", "responses")
    for each in ERROR_TABLE:
        response = member(responses, f"refused-{each.status}")
        assert each.code in str(response["content"])
        assert each.remedy in str(response["description"])


def test_every_status_but_405_belongs_to_an_operation() -> None:
    used = {status for _, operation in operations() for status in member(operation, "responses")}
    errors = {str(each.status) for each in ERROR_TABLE} - {"405"}
    assert {status for status in used if int(status) >= 400} == errors
