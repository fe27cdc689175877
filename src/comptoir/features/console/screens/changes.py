"""The screen Changes: what was changed, when and by whom, in a company or in one record."""

from collections.abc import Collection, Iterator, Mapping, Set
from contextlib import suppress
from typing import NamedTuple
from urllib.parse import parse_qsl, urlsplit

from comptoir.auth.records import ConsoleRole
from comptoir.edm.model import EntitySet, Property
from comptoir.errors.refusal import Refusal
from comptoir.features.console.captions import caption, set_caption
from comptoir.features.console.company_records import (
    ChangeLine,
    CompanyRecords,
    company_of,
    key_of,
    page_url,
)
from comptoir.features.console.frame import Answer, Endpoint, Screen, TemplatePage
from comptoir.features.console.record_form import record_name, record_title, short
from comptoir.features.console.record_query import equals
from comptoir.features.console.templates import Context
from comptoir.features.console.values import Presented, presented
from comptoir.features.console.visit import Visit
from comptoir.http.redaction import MASK
from comptoir.jsonvalue import Json
from comptoir.store.ledger import CREATE, DELETE, UPDATE

_OPTIONS = ("entitySet", "record", "from")
"""The options of the resource that the address of a page may have."""

_VERBS = {CREATE: "created", UPDATE: "changed", DELETE: "deleted"}

Names = Mapping[tuple[str, str], str]
"""The names of records for people, by their sets and keys."""


class ChangedValue(NamedTuple):
    """A property that a change has changed, with its values before and after."""

    name: str
    caption: str
    before: Presented
    after: Presented


async def show(visit: Visit) -> Answer:
    """A page of the change log: of a company, of one of its sets, or of one record."""
    options = {name: text for name in _OPTIONS if (text := visit.query.text(name))}
    records, model = CompanyRecords(visit), visit.backend.model
    lines, next_link = await records.changes(**options)
    names, existing = await _names(records, model.stored, lines)
    entity_set, key = model.by_name.get(options.get("entitySet", "")), options.get("record", "")
    title = "Changes"
    if entity_set is not None and key:
        name = names.get((entity_set.name, key), key)
        title = f"Changes of {caption(entity_set.type).lower()} {name}"
    earlier = dict(parse_qsl(urlsplit(next_link).query)).get("from", "")
    latest = {name: text for name, text in options.items() if name != "from"}
    context = {
        "rows": [
            _row(
                visit,
                model.by_name.get(each.entity_set),
                each,
                names.get((each.entity_set, each.record), each.record),
                exists=(each.entity_set, each.record) in existing,
            )
            for each in lines
        ],
        "chosen": options.get("entitySet", ""),
        "is_of_record": bool(key),
        "sets": [(each.name, set_caption(each)) for each in model.stored],
        "latest": changes_url(visit, **latest) if "from" in options else "",
        "earlier": changes_url(visit, **latest, **{"from": earlier}) if earlier else "",
        "all_changes": changes_url(visit),
        "company_id": company_of(visit),
    }
    return TemplatePage("changes.html", title, context)


def changes_url(visit: Visit, **options: str) -> str:
    """The address of a page of changes."""
    return visit.url(SCREEN.address, company=company_of(visit), **options)


async def _names(
    records: CompanyRecords, sets: Collection[EntitySet], lines: Collection[ChangeLine]
) -> tuple[Names, Set[tuple[str, str]]]:
    """The names of the records of changes, and which of them exist.

    A deleted record is named by the values that it had.
    """
    found: dict[tuple[str, str], str] = {}
    existing: set[tuple[str, str]] = set()
    for entity_set in sets:
        entity_type = entity_set.type
        own = [each for each in lines if each.entity_set == entity_set.name]
        keys = dict.fromkeys(each.record for each in own)
        versions = [(each.record, each.before) for each in own if each.verb == DELETE]
        condition = " or ".join(equals(entity_type.key_property, key) for key in keys)
        # a change is shown even if its record is not
        with suppress(Refusal):
            now = await records.matching(entity_set, condition) if condition else []
            versions += [(key_of(entity_set, each), each) for each in now]
            existing.update((entity_set.name, key_of(entity_set, each)) for each in now)
        for key, values in versions:
            name = [record_name(entity_type, values), record_title(entity_type, values)]
            found[entity_set.name, key] = " ".join(dict.fromkeys(filter(None, name)))
    return found, existing


def _row(
    visit: Visit, entity_set: EntitySet | None, line: ChangeLine, name: str, *, exists: bool
) -> Context:
    """A change as people read it; addresses are blank where there is nothing to show or to do.

    `undo` restores the values before an update, or opens the form with those before a delete.
    """
    record_page = history_page = undo = ""
    values = list(_values(entity_set, line))
    if entity_set is not None:
        number, is_delete = str(line.number), line.verb == DELETE
        if exists:
            record_page = page_url(visit, entity_set, "/record", key=line.record)
        options = {"entitySet": line.entity_set, "record": line.record}
        if entity_set.tracks_changes:
            history_page = changes_url(visit, **options, **{} if exists else {"from": number})
        # a secret is the same on both sides
        is_known = any(each.before != each.after for each in values) and (exists or is_delete)
        if is_known and not entity_set.read_only and visit.may(ConsoleRole.EDITOR):
            way = "/new" if is_delete else "/record/restore"
            undo = page_url(visit, entity_set, way, key=line.record, number=number)
    return {
        "line": line,
        "verb": _VERBS.get(line.verb, line.verb),
        "set_caption": line.entity_set if entity_set is None else caption(entity_set.type),
        "name": name,
        "record_page": record_page,
        "history_page": history_page,
        "changed": values,
        "undo": undo,
    }


def _values(entity_set: EntitySet | None, line: ChangeLine) -> Iterator[ChangedValue]:
    """The values of a change, without the time that each change sets."""
    # the catalog may lack the property
    by_name = {} if entity_set is None else entity_set.type.by_name
    for name, before in line.before.items():
        declared = by_name.get(name)
        if declared is None or not declared.is_stamp:
            both = [_presented(declared, each) for each in (before, line.after.get(name))]
            yield ChangedValue(name, name if declared is None else caption(declared), *both)


def _presented(declared: Property | None, value: Json) -> Presented:
    """A value of a change; one without a limit may have millions of characters."""
    if declared is not None and declared.secret:
        return Presented(MASK, MASK)
    if declared is not None and value is not None and not declared.is_unlimited:
        return presented(declared, value)
    text = "" if value is None else str(value)
    beginning = short(text)
    length = f" ({len(text):,} characters)" if beginning != text else ""
    return Presented(f"{beginning}{length}", text)


SCREEN = Screen("Changes", "/changes", (Endpoint("GET", "", show),), 35, has_companies=True)
