"""The OpenAPI document of the service, with the keys of records that there are."""

import msgspec

from comptoir.catalog import MODEL
from comptoir.edm.model import EntitySet
from support.client import Record
from support.samples import SAMPLES

Document = dict[str, object]

_UNDER_COMPANY = "/companies({company_id})/"
_NO_RECORD: dict[str, object] = {
    "Edm.Guid": "deadbeef-dead-4eef-8ead-deadbeefdead",
    "Edm.String": "NONE",
    "Edm.Int32": 2_000_000_000,
}


def pointed(document: Document, company_id: str) -> Document:
    """The document with the company's key and keys of its records as the values of paths."""
    paths = msgspec.convert(document["paths"], dict[str, Document])
    return {
        **document,
        "paths": {path: _at(path, item, company_id) for path, item in paths.items()},
    }


def _at(path: str, item: Document, company_id: str) -> Document:
    known = {"company_id": [company_id], **_keys(path)}
    declared = msgspec.convert(item.get("parameters", []), list[Document])
    parameters = [
        {**each, "schema": {"enum": known[str(each["name"])]}} if each["name"] in known else each
        for each in declared
    ]
    return {**item, "parameters": parameters}


def _keys(path: str) -> dict[str, list[object]]:
    """The properties by which a kind's records are addressed: the sample's values, and no one's."""
    kind = MODEL.by_name.get(path.removeprefix(_UNDER_COMPANY).partition("(")[0])
    if kind is None or not kind.per_company:
        return {}
    known: dict[str, list[object]] = {name: [held] for name, held in _sample(kind).items()}
    key = kind.type.key
    known[key].append(_NO_RECORD[kind.type.by_name[key].type.edm_name])
    return known


def _sample(kind: EntitySet) -> Record:
    if kind.view is None:
        return SAMPLES[kind.name]
    base = SAMPLES[kind.view.base]
    return {name: base[column] for name, column in kind.view.columns.items()}
