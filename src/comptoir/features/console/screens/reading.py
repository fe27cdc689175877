"""The page of a record as people read it: its values, what they name, and its related records."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

import msgspec
from starlette.responses import Response

from comptoir.auth.records import ConsoleRole
from comptoir.edm.model import EntitySet, Model
from comptoir.edm.types import Guid, Stored
from comptoir.errors.refusal import Refusal
from comptoir.features.console.captions import caption, set_caption, words
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
from comptoir.features.console.record_query import RecordQuery, equals
from comptoir.features.console.screens.changes import changes_url
from comptoir.features.console.templates import Context
from comptoir.features.console.values import Values, encoded, of_stored, shown
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
    named, related = await _others(visit, entity_set, version)
    context = {
        **links(visit, entity_set, key, name),
        "filled": [each for each in properties if each.value.text.strip()],
        "blank": [each for each in properties if not each.value.text.strip()],
        "named": named,
        "related": related,
        "may_write": not entity_set.read_only and visit.may(ConsoleRole.EDITOR),
        "tag": version.tag,
        "read": encoded(version.values).decode(),
        "history_page": changes_url(visit, entitySet=entity_set.name, record=key)
        if entity_set.tracks_changes
        else "",
        "document": page_url(visit, entity_set, "/record/json", key=key),
        "done": done(visit),
    }
    heading = " ".join(dict.fromkeys([caption(entity_set.type), name, title])).strip()
    return TemplatePage("record.html", heading, context)


def links(visit: Visit, entity_set: EntitySet, key: str = "", name: str = "") -> Context:
    """The links of all pages of a record, or of a new one, and the question before its delete."""
    return {
        "entity_set": entity_set,
        "set_page": list_url(visit, entity_set),
        "set_caption": set_caption(entity_set),
        "new_page": page_url(visit, entity_set, "/new"),
        "record_page": page_url(visit, entity_set, "/record", key=key),
        "edit_page": page_url(visit, entity_set, "/record/edit", key=key),
        "delete_page": page_url(visit, entity_set, "/record/delete", key=key),
        "question": f"Delete {caption(entity_set.type).lower()} {name}?",
    }


async def document(visit: Visit) -> Answer:
    """A record as JSON, as clients receive it."""
    content = await CompanyRecords(visit).record_document(set_of(visit), visit.query.text("key"))
    return Response(content, media_type="application/json")


class _Relation(msgspec.Struct, frozen=True):
    """A way to other records: those of `target` whose property `by` has the value of `property`.

    It leads from records with the values of `when` to those with the values of `only`. `name` is
    that of a list of records, blank for the one record that a value names.
    """

    property: str
    target: EntitySet
    by: str
    only: Values = {}
    when: Values = {}
    name: str = ""

    def condition(self, values: Values) -> str:
        """The condition of the other records; blank if there are none."""
        own = values.get(self.property)
        if not own or any(values.get(name) != value for name, value in self.when.items()):
            return ""
        by_name = self.target.type.by_name
        wanted: Values = {self.by: own, **self.only}
        return " and ".join(
            equals(by_name[name], shown(by_name[name], value)) for name, value in wanted.items()
        )


def _relations(model: Model, entity_set: EntitySet) -> Iterator[_Relation]:
    """The lists related to a set's records, and what values name: by own relations, else by others.

    Those are the relations that lead to the set.
    """
    entity_type, known = entity_set.type, set[str]()
    for own in entity_type.navigation:
        target, (mine, theirs) = model.by_name[own.target], own.on
        name = own.name if own.collection else ""
        yield _Relation(mine, target, theirs, _values(target, own.only), name=name)
        if not own.collection:
            known.add(mine)
    for each in entity_type.references:
        target = model.by_name[each.target]
        only, when = (dict([pair]) if pair else {} for pair in (each.only, each.when))
        yield _Relation(
            each.property, target, each.named_by, _values(target, only), _values(entity_set, when)
        )
        known.add(each.property)
    for other in model.sets:
        for back in other.type.navigation:
            leads_here = back.collection and model.by_name[back.target] is entity_set
            theirs, mine = back.on
            if leads_here and mine not in known:
                yield _Relation(mine, other, theirs, when=_values(entity_set, back.only))


def _values(entity_set: EntitySet, stored: Mapping[str, Stored]) -> Values:
    by_name = entity_set.type.by_name
    return {name: of_stored(by_name[name], value) for name, value in stored.items()}


async def _others(
    visit: Visit, entity_set: EntitySet, version: Version
) -> tuple[Mapping[str, Related], Sequence[Related]]:
    """The records that values name, by the names of the properties, and the related lists."""
    named: dict[str, Related] = {}
    related: list[Related] = []
    records = CompanyRecords(visit)
    for each in _relations(visit.backend.model, entity_set):
        condition = each.condition(version.values)
        if not condition or (each.property in named and not each.name):
            continue
        # the record is shown even if others are not
        with suppress(Refusal):
            if each.name:
                query = RecordQuery(filter=condition)
                count = await records.count(each.target, query)
                address = page_url(visit, each.target, query=query.address())
                related.append(Related(words(each.name), address, count))
                continue
            for other in await records.matching(each.target, condition, 1):
                key = key_of(each.target, other)
                address = page_url(visit, each.target, "/record", key=key, back="")
                name = record_title(each.target.type, other)
                named[each.property] = Related(name, address)
    return named, related


ENDPOINTS = (
    Endpoint("GET", f"/{SET}/record", show),
    Endpoint("GET", f"/{SET}/record/json", document),
)
