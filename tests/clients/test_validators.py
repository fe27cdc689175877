"""`$metadata` is valid by the OASIS schemas, and an independent converter reads it (npm)."""

from collections.abc import Mapping
from itertools import chain, product
from pathlib import Path

import jsonschema_rs
import msgspec
import pytest

from comptoir.catalog import API_V2, MODEL, read_catalog
from comptoir.edm.model import Model
from support.databases import ON_SQLITE
from support.programs import Node, node
from support.service import StartService
from support.subjects import every_option

pytestmark = ON_SQLITE  # the documents do not depend on the database

HERE = Path(__file__).parent
CSDL_SCHEMA = Path("odata-csdl", "schemas", "csdl.schema.json")
_BIG = 200_000_000
"""Bytes that the schema's patterns may take, compiled: they name every letter of Unicode."""
DOCUMENTS = [*product(("base", "company", "own"), ("4.0", "4.01")), ("api v2", "4.01")]
"""The root or the catalog of each document, and its version."""


class OpenApi(msgspec.Struct):
    """What a conversion to OpenAPI gave, where it lets records be created, and its complaints."""

    paths: list[str]
    creating: list[str]
    complaints: list[str]


class Judgement(msgspec.Struct):
    """What `validate.mjs` prints."""

    invalid: list[str]
    unreadable: list[str]
    converted: dict[str, msgspec.Raw]
    of_xml: OpenApi
    of_json: OpenApi


class Metadata(msgspec.Struct):
    """What a root says of itself in both formats, and how it was judged."""

    model: Model
    json: bytes
    judgement: Judgement


@pytest.fixture(scope="module")
def installed() -> Node:
    return node()


@pytest.fixture(scope="module")
def documents(
    share_service: StartService, installed: Node, tmp_path_factory: pytest.TempPathFactory
) -> Mapping[str, Metadata]:
    """The documents of both roots and of an own catalog, of both versions."""
    folder = tmp_path_factory.mktemp("metadata")
    own, service = every_option(), share_service()
    api_v2 = read_catalog(Path(API_V2))
    roots = {
        "base": (MODEL, service.client),
        "company": (MODEL, service.new_company()),
        "own": (own, share_service(own).new_company()),
        "api v2": (api_v2, share_service(api_v2).new_company()),
    }
    files: dict[str, tuple[Path, Path]] = {}
    for kind, version in DOCUMENTS:
        name = f"{kind}-{version}"
        files[name] = (folder / f"{name}.xml", folder / f"{name}.json")
        # JSON is of 4.01 alone, so nobody who asks for it limits the version to 4.0
        for file, highest in zip(files[name], (version, "4.01"), strict=True):
            media_type = f"application/{file.suffix[1:]}"
            asked = {"Accept": media_type, "OData-MaxVersion": highest}
            response = roots[kind][1].get("$metadata", headers=asked)
            assert response.status_code == 200, response.text
            file.write_bytes(response.content)
    printed = installed.run(HERE / "validate.mjs", installed.packages, *chain(*files.values()))
    judgements = msgspec.json.decode(printed, type=list[Judgement])
    return {
        name: Metadata(roots[name.partition("-")[0]][0], json.read_bytes(), judgement)
        for (name, (_, json)), judgement in zip(files.items(), judgements, strict=True)
    }


@pytest.fixture(scope="module", params=DOCUMENTS)
def metadata(request: pytest.FixtureRequest, documents: Mapping[str, Metadata]) -> Metadata:
    return documents["-".join(request.param)]


@pytest.fixture(scope="module")
def validator(installed: Node) -> jsonschema_rs.Validator:
    schema = msgspec.json.decode((installed.packages / CSDL_SCHEMA).read_bytes())
    roomy = jsonschema_rs.FancyRegexOptions(size_limit=_BIG, dfa_size_limit=_BIG)
    return jsonschema_rs.validator_for(schema, pattern_options=roomy)


def test_the_xml_is_valid(metadata: Metadata) -> None:
    assert metadata.judgement.invalid == []
    assert metadata.judgement.unreadable == []


def test_the_json_is_valid(metadata: Metadata, validator: jsonschema_rs.Validator) -> None:
    errors = validator.iter_errors(msgspec.json.decode(metadata.json))
    assert [error.message for error in errors] == []


def test_xml_and_json_say_the_same(metadata: Metadata) -> None:
    said = msgspec.json.decode(metadata.json, type=Mapping[str, msgspec.Raw])
    assert _comparable(metadata.judgement.converted) == _comparable(said)


def test_both_convert_to_open_api_without_complaint(metadata: Metadata) -> None:
    for converted in (metadata.judgement.of_xml, metadata.judgement.of_json):
        assert converted.complaints == []
        ends = {path.rpartition("/")[2] for path in converted.paths}
        assert {each.name for each in metadata.model.per_company} <= ends


def test_the_converter_sees_which_sets_can_be_written(metadata: Metadata) -> None:
    """It reads terms by their full names, as long as no alias is declared.

    Of sets within a company it does not ask, so those at the top are compared.
    """
    for converted in (metadata.judgement.of_xml, metadata.judgement.of_json):
        at_top = [each for each in metadata.model.sets if f"/{each.name}" in converted.paths]
        assert at_top
        for each in at_top:
            assert (f"/{each.name}" in converted.creating) is not each.read_only


def _comparable(csdl: Mapping[str, msgspec.Raw]) -> object:
    """CSDL without what its version and the form of its vocabularies bring."""
    text = msgspec.json.encode({name: held for name, held in csdl.items() if name != "$Version"})
    return msgspec.json.decode(text.replace(b".json", b".xml").replace(b"@odata.type", b"@type"))
