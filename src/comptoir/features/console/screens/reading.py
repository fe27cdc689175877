"""The page of a record as people read it: its values, what they name, and its related records."""

from collections.abc import Mapping
from contextlib import suppress

import msgspec
from starlette.responses import Response

from comptoir.auth.records import ConsoleRole
from comptoir.edm.model import EntitySet
from comptoir.edm.types import Guid
from comptoir.errors.refusal import Refusal
from comptoir.features.console.captions import set_caption, type_caption, words
from comptoir.features.console.company_records import (
    SET,
    CompanyRecords,
    Version,
    is_number,
    key_of,
    list_url,
    page_url,
    set_of,
)
from comptoir.features.console.frame import Answer, Endpoint, TemplatePage
from comptoir.features.console.record_form import record_name, record_title, shown_properties
from comptoir.features.console.record_query import RecordQuery
from comptoir.features.console.relations import lookups, related_lists
from comptoir.features.console.screens.changes import changes_url
from comptoir.features.console.values import encoded
from comptoir.features.console.visit import Visit

_DONE: Mapping[str, str] = {
    "created": "The record was created",
    "saved": "The record was saved",
    "restored": "The earlier values were restored",
    "deleted": "The record was deleted",
    "unchanged": "Nothing was changed",
}


def done(visit: Visit) -> str:
    """The last act of the user, blank if none."""
    text, change = _DONE.get(visit.query.text("done"), ""), visit.query.text("change")
    if not text:
        return ""
    return f"{text}, as change {change}." if is_number(change) else f"{text}."


class Related(msgspec.Struct, frozen=True):
    """A record that a value names, or a list with its number of records in words."""

    name: str
    address: str
    count: str = ""


async def show(visit: Visit) -> Answer:
    """A record, with links to what its values name and to the records that name it."""
    entity_set, key = set_of(visit), visit.query.text("key")
    version = await CompanyRecords(visit).read(entity_set, key)
    properties = shown_properties(entity_set.type, version.values, whole=True)
    if isinstance(entity_set.type.key_property.type, Guid):
        # people know a record by other values
        properties.sort(key=lambda each: each.name == entity_set.type.key)
    name = record_name(entity_set.type, version.values) or key
    title = record_title(entity_set.type, version.values)
    may_write = not entity_set.read_only and visit.may(ConsoleRole.EDITOR)
    context = {
        "entity_set": entity_set,
        "set_page": list_url(visit, entity_set),
        "set_caption": set_caption(entity_set),
        "filled": [each for each in properties if each.value.text.strip()],
        "blank": [each for each in properties if not each.value.text.strip()],
        "named": await _named(visit, entity_set, version),
        "related": await _related(visit, entity_set, version),
        "edit_page": page_url(visit, entity_set, "/record/edit", key=key) if may_write else "",
        "delete_page": page_url(visit, entity_set, "/record/delete", key=key) if may_write else "",
        "record_page": page_url(visit, entity_set, "/record", key=key),
        "question": delete_question(entity_set, name),
        "tag": version.tag,
        "read": encoded(version.values).decode(),
        "history_page": changes_url(visit, entitySet=entity_set.name, record=key)
        if entity_set.tracks_changes
        else "",
        "document": page_url(visit, entity_set, "/record/json", key=key),
        "done": done(visit),
    }
    heading = " ".join(dict.fromkeys([type_caption(entity_set.type), name, title])).strip()
    return TemplatePage("record.html", heading, context)


def delete_question(entity_set: EntitySet, name: str) -> str:
    """The question before a record is deleted."""
    return f"Delete {type_caption(entity_set.type).lower()} {name}?"


async def document(visit: Visit) -> Answer:
    """A record as JSON, as clients receive it."""
    content = await CompanyRecords(visit).record_document(set_of(visit), visit.query.text("key"))
    return Response(content, media_type="application/json")


async def _named(visit: Visit, entity_set: EntitySet, version: Version) -> Mapping[str, Related]:
    """The records that values name, by the names of the properties."""
    found: dict[str, Related] = {}
    records = CompanyRecords(visit)
    for each in lookups(visit.backend.model, entity_set):
        condition = each.condition(version.values)
        if not condition or each.property in found:
            continue
        # the value is shown even if what it names is not
        with suppress(Refusal):
            for other in await records.matching(each.target, condition, 1):
                key = key_of(each.target, other)
                address = page_url(visit, each.target, "/record", key=key, back="")
                name = record_title(each.target.type, other)
                found[each.property] = Related(name, address)
    return found


async def _related(visit: Visit, entity_set: EntitySet, version: Version) -> list[Related]:
    found: list[Related] = []
    for each in related_lists(visit.backend.model, entity_set):
        condition = each.condition(version.values)
        with suppress(Refusal):
            if condition:
                query = RecordQuery(filter=condition)
                count = await CompanyRecords(visit).count(each.target, query)
                address = page_url(visit, each.target, query=query)
                found.append(Related(words(each.name), address, count))
    return found


ENDPOINTS = (
    Endpoint("GET", f"/{SET}/record", show),
    Endpoint("GET", f"/{SET}/record/json", document),
)
