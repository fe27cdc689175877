"""The service does what its OpenAPI document says, whatever it is asked (schemathesis).

Every check of schemathesis is made of every answer, but for an answer with 501, which must name
what is not supported. The forms of requests and answers are the same whatever the database.

The document itself states the digits of Decimals in words, because validators that compute with
binary floats refuse 33.6442 as a multiple of 0.00001. Here their schemas are made exact.
"""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from email.utils import format_datetime
from uuid import uuid4

import msgspec
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, assume, given, seed, settings
from hypothesis import strategies as st
from schemathesis import Case, GenerationMode
from schemathesis.core.adapter import OperationParameter, ResponsesContainer
from schemathesis.core.result import Ok
from schemathesis.schemas import APIOperation, BaseSchema

from comptoir.catalog import MODEL
from comptoir.edm.model import EntitySet
from comptoir.edm.numbers import DECIMAL, UNIT, WHOLE_DIGITS
from conftest import stock
from contract.queries import BATCHES, OPTIONS, found_at
from support.companies import Company
from support.databases import ON_SQLITE
from support.effort import examples
from support.samples import SAMPLES, UNKNOWN
from support.server import Server

pytestmark = ON_SQLITE

Document = dict[str, object]

_EXACT_DECIMAL = {
    **DECIMAL.json_schema,
    "multipleOf": 1 / UNIT,
    "exclusiveMinimum": -(10**WHOLE_DIGITS),
    "exclusiveMaximum": 10**WHOLE_DIGITS,
}
"""The Decimals that the service accepts, for a validator that computes exactly."""

_UNDER_COMPANY = "/companies({company_id})/"
_NO_RECORD = {"Edm.Guid": UNKNOWN, "Edm.String": "NONE", "Edm.Int32": 2_000_000_000}

Operation = APIOperation[OperationParameter, ResponsesContainer[object], object, BaseSchema]
Request = Case[Operation]

EXAMPLES = examples(1)
"""Requests of each mode for each path and method."""

REPEATABLE = {"Repeatability-Request-ID", "Repeatability-First-Sent"}
TOKEN = "Consistency-Token"
TAGS = (*MODEL.by_name, "service")
TRIED = TAGS if EXAMPLES > 1 else ("companies", "contactsExt", "customersExt", "itemsExt",
    "filteredItemAttributesExt", "unitsOfMeasureExt", "service")  # fmt: skip
"""The other sets have the forms of these: that of one that is read only, or has a key of text."""


@pytest.fixture(scope="module")
def document(server: Server) -> Document:
    response = server.origin.get("docs/openapi.json")
    assert response.status_code == 200
    return msgspec.json.decode(response.content, type=Document)


def test_every_operation_belongs_to_a_kind_or_to_the_service(document: Document) -> None:
    api = schemathesis.openapi.from_dict(document)
    assert {tag_of(each) for each in operations(api)} == set(TAGS)


@pytest.mark.parametrize("tag", TRIED)
def test_answers_are_as_described(tag: str, document: Document, server: Server) -> None:
    company = stock(server.new_company())
    entity_set = MODEL.by_name.get(tag)
    api = configured(pointed(part_of(document, tag), company.id))
    headers = {"Authorization": f"Bearer {company.token}"}

    def ask(case: Request) -> None:
        response = case.call(base_url=server.base_url, headers=headers)
        if response.status_code == 501:
            assert response.json()["error"]["code"] == "BadRequest_MethodNotImplemented"
        else:
            case.validate_response(response, headers=headers)

    # negative requests change nothing, so the records are there for the others
    for mode in (GenerationMode.NEGATIVE, GenerationMode.POSITIVE):
        for operation in operations(api):
            play(operation, entity_set, mode, company, ask)


def configured(document: Document) -> BaseSchema:
    """The interface as schemathesis is to judge it.

    No text holds NUL, as the document says in words; a query option without `$` is the client's
    own, and ignored; the token is always the one of the company; a tag may be stale, which is found
    before the body is looked at.
    """
    api = schemathesis.openapi.from_dict(document)
    api.config.generation.update(
        allow_x00=False, allow_extra_parameters=False, with_security_parameters=False
    )
    for check in (
        api.config.checks.positive_data_acceptance,
        api.config.checks.negative_data_rejection,
    ):
        check.expected_statuses = [*check.expected_statuses, "412"]
    return api


def operations(api: BaseSchema) -> Iterator[Operation]:
    for found in api.get_all_operations():
        assert isinstance(found, Ok), found
        yield found.ok()


def tag_of(operation: Operation) -> str:
    """The entity set that an operation is about, or the service."""
    (tag,) = operation.definition.raw["tags"]
    return str(tag)


def play(
    operation: Operation,
    entity_set: EntitySet | None,
    mode: GenerationMode,
    company: Company,
    ask: Callable[[Request], None],
) -> None:
    cases = operation.as_strategy(generation_mode=mode)

    @seed(operation.label)
    @settings(
        max_examples=EXAMPLES,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(st.data())
    def example(data: st.DataObject) -> None:
        # Hypothesis begins with the simplest request, which has no options: other tests send it
        assume(data.draw(st.integers(0, 99)))
        case = data.draw(cases)
        if mode is GenerationMode.POSITIVE:
            make_sense(case, entity_set, data)
            if TOKEN in case.headers:
                case.headers[TOKEN] = f"{company.stored.incarnation}.1"
        ask(case)

    example()


def make_sense(case: Request, entity_set: EntitySet | None, data: st.DataObject) -> None:
    """Keep the rules that OpenAPI has no words for, and ask what is valid for the entity set.

    The headers of a repeatable request go together, and not long after the request was sent first;
    a PUT has one guard; parts of a batch have ids of their own, and schemathesis writes no
    multipart/mixed; operation 9 at a key gives a collection to those alone who do not name OData.
    """
    if case.headers.keys() & REPEATABLE:
        case.headers["Repeatability-Request-ID"] = str(uuid4())
        case.headers["Repeatability-First-Sent"] = format_datetime(datetime.now(UTC), usegmt=True)
    if case.method == "PUT":
        case.headers.pop("If-None-Match", None)
        case.headers["If-Match"] = "*"
    elif "If-Match" in case.headers and data.draw(st.booleans()):
        case.headers["If-Match"] = "*"
    if "$format" in case.query:
        case.query["$format"] = "json"
        if case.operation.path.endswith("$metadata"):
            # CSDL JSON is for clients of 4.01 alone
            case.headers.pop("OData-MaxVersion", None)
    if case.operation.path.endswith("$batch"):
        case.media_type, case.body = "application/json", data.draw(BATCHES)
    if entity_set is None:
        return
    if entity_set.key_narrows:
        case.headers.pop("OData-MaxVersion", None)
    found = found_at(case.operation.path, entity_set)
    declared = {each.name for each in case.operation.query}
    for name in (name for name in OPTIONS if name in declared):
        case.query.pop(name, None)
        text = data.draw(st.one_of(st.none(), st.none(), OPTIONS[name](found)))
        if text is not None:
            case.query[name] = text
    if "$apply" in case.query:
        # they are about the result by then, which has other properties
        for name in ("$compute", "$search", "$filter", "$orderby", "$select", "$expand"):
            case.query.pop(name, None)


def pointed(document: Document, company_id: str) -> Document:
    """The document with the company's key and keys of its records as the values of paths."""
    paths = msgspec.convert(document["paths"], dict[str, Document])
    components = msgspec.convert(document["components"], Document)
    schemas = msgspec.convert(components["schemas"], dict[str, Document])
    return {
        **document,
        "paths": {path: _at(path, item, company_id) for path, item in paths.items()},
        "components": {
            **components,
            "schemas": {name: with_exact_decimals(schema) for name, schema in schemas.items()},
        },
    }


def part_of(document: Document, tag: str) -> Document:
    """The document with only the paths of a tag: to read all of them takes long."""
    paths = msgspec.convert(document["paths"], dict[str, dict[str, object]])
    operations = {
        path: [each["tags"] for each in item.values() if isinstance(each, dict)]
        for path, item in paths.items()
    }
    return {**document, "paths": {path: paths[path] for path in paths if [tag] in operations[path]}}


def with_exact_decimals(schema: Document) -> Document:
    """The schema of an object, whose Decimals are those that the service accepts."""
    properties = msgspec.convert(schema.get("properties", {}), dict[str, Document])
    exact = {
        name: {**declared, **_EXACT_DECIMAL} if declared.get("format") == "decimal" else declared
        for name, declared in properties.items()
    }
    return {**schema, "properties": exact} if exact else schema


def _at(path: str, item: Document, company_id: str) -> Document:
    known = {"company_id": [company_id], **_keys(path)}
    declared = msgspec.convert(item.get("parameters", []), list[Document])
    parameters = [
        {**each, "schema": {"enum": known[str(each["name"])]}} if each["name"] in known else each
        for each in declared
    ]
    return {**item, "parameters": parameters}


def _keys(path: str) -> dict[str, list[object]]:
    """The keys in addresses of an entity set's records: the sample's values, and unused ones."""
    entity_set = MODEL.by_name.get(path.removeprefix(_UNDER_COMPANY).partition("(")[0])
    if entity_set is None or not entity_set.per_company:
        return {}
    if entity_set.view is None:
        sample = SAMPLES[entity_set.name]
    else:
        base = SAMPLES[entity_set.view.base]
        sample = {name: base[column] for name, column in entity_set.view.columns.items()}
    known: dict[str, list[object]] = {name: [value] for name, value in sample.items()}
    key = entity_set.type.key
    known[key].append(_NO_RECORD[entity_set.type.by_name[key].type.edm_name])
    return known
