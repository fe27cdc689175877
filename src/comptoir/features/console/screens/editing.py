"""The pages of a record: it is created, changed and deleted by forms, and conflicts are resolved.

A form carries the version of the record that its user has read, so nothing that others save
meanwhile is lost; and it is shown again with all that was typed, whatever the service refuses.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import cast

import msgspec

from comptoir.auth.logins import ConsoleRole
from comptoir.edm.model import EntitySet, Property
from comptoir.edm.types import Guid
from comptoir.errors.refusal import (
    Refusal,
    refuse,
)
from comptoir.errors.table import (
    BAD_REQUEST,
    ENTITY_CHANGED,
    RECORD_NOT_FOUND,
)
from comptoir.features.console import errors
from comptoir.features.console.company_records import (
    SET,
    Author,
    CompanyRecords,
    Version,
    change_number,
    key_of,
    page_url,
    set_of,
)
from comptoir.features.console.frame import Answer, Endpoint, Redirect, TemplatePage
from comptoir.features.console.record_form import (
    editable,
    form_fields,
    secrets,
    shown_properties,
    text_of,
)
from comptoir.features.console.values import (
    ChangedProperty,
    Draft,
    Side,
    Values,
    decoded,
    differences,
    empty,
    encoded,
    rebased,
    shown,
    typed,
)
from comptoir.features.console.visit import Visit

FIELD = "field."
"""The prefix of fields for properties."""

SECRET = "secret."  # noqa: S105 - the name of a field
"""The prefix of fields for secret properties, whose values no page shows."""

CHOICE = "choice."
"""The prefix of fields for the choice between two values."""

_DONE: Mapping[str, str] = {
    "created": "The record was created",
    "saved": "The record was saved",
    "deleted": "The record was deleted",
    "unchanged": "Nothing was changed",
}


class Compared(msgspec.Struct, frozen=True):
    """A property of a conflict, with its three values as text."""

    name: str
    label: str
    read: str
    now: str
    wanted: str
    outcome: str
    chosen: str


def done(visit: Visit) -> str:
    """The last act of the user, blank if none."""
    text, change = _DONE.get(visit.query.text("done"), ""), visit.query.text("change")
    if not text:
        return ""
    return f"{text}, as change {change}." if change.isascii() and change.isdigit() else f"{text}."


async def show(visit: Visit) -> Answer:
    """A record: a form for editors, and otherwise its values."""
    entity_set, key = set_of(visit), visit.query.text("key")
    version = await CompanyRecords(visit).read(entity_set, key)
    if not _may_edit(visit, entity_set):
        context = _common(visit, entity_set, key, version.values)
        context["shown_properties"] = shown_properties(entity_set.type, version.values, whole=True)
        return TemplatePage("record.html", _title(entity_set, version.values, key), context)
    wanted = _changeable(entity_set, version.values)
    return _form(visit, entity_set, key, Draft(version.tag, version.values, wanted))


async def save(visit: Visit) -> Answer:
    """Save what the user has changed."""
    entity_set, key = _writable(visit), visit.query.text("key")
    read = _posted(visit, "read")
    draft = Draft(
        visit.form.text("tag"), read, _typed(visit, entity_set, read), _secrets(visit, entity_set)
    )
    return await _saved(visit, entity_set, key, draft)


async def merge(visit: Visit) -> Answer:
    """Save a draft over a change of somebody else, after the user has decided the conflict."""
    entity_set, key, form = _writable(visit), visit.query.text("key"), visit.form
    wanted = _changeable(entity_set, _posted(visit, "wanted"))
    draft = Draft("", _posted(visit, "read"), wanted, _secrets(visit, entity_set))
    now = Version(form.text("tag"), _posted(visit, "now"))
    chosen = {
        each.name: cast("Side", form.text(f"{CHOICE}{each.name}"))
        for each in editable(entity_set.type)
        if form.text(f"{CHOICE}{each.name}") in ("yours", "theirs")
    }
    merged = rebased(draft, now.tag, now.values, chosen)
    if merged is None:
        return await _conflict(visit, entity_set, key, draft, now, chosen)
    if form.has("edit"):
        return _form(visit, entity_set, key, merged)
    return await _saved(visit, entity_set, key, merged)


async def new(visit: Visit) -> Answer:
    """An empty form for a record."""
    return _new_form(visit, _writable(visit), {})


async def create(visit: Visit) -> Answer:
    """Create a record of what the user has typed; what is empty gets the service's value."""
    entity_set = _writable(visit)
    values = {
        each.name: value
        for each in editable(entity_set.type, creating=True)
        if (value := typed(each, visit.form.text(_field(each)), empty(each))) != empty(each)
    }
    try:
        version = await CompanyRecords(visit).create(entity_set, values)
    except Refusal as refusal:
        return _new_form(visit, entity_set, values, refusal)
    return _redirect(visit, entity_set, "created", version)


async def ask(visit: Visit) -> Answer:
    """Ask whether to delete a record."""
    entity_set, key = _writable(visit), visit.query.text("key")
    return _question(visit, entity_set, key, await CompanyRecords(visit).read(entity_set, key))


async def delete(visit: Visit) -> Answer:
    """Delete a record, unless somebody has changed it since the user was asked."""
    entity_set, key, records = _writable(visit), visit.query.text("key"), CompanyRecords(visit)
    asked = Version(visit.form.text("tag"), _posted(visit, "read"))
    try:
        await records.delete(entity_set, key, asked.tag)
    except Refusal as refusal:
        if refusal.error is not ENTITY_CHANGED:
            return _question(visit, entity_set, key, asked, refusal=refusal)
        now = await records.read(entity_set, key)
        unchanged = Draft(asked.tag, asked.values, _changeable(entity_set, asked.values))
        changed = list(differences(unchanged, now.values))
        author = await _author(visit, entity_set, key, now.tag)
        return _question(visit, entity_set, key, now, author, changed, refusal)
    return Redirect(page_url(visit, entity_set, done="deleted"))


async def _saved(visit: Visit, entity_set: EntitySet, key: str, draft: Draft) -> Answer:
    records = CompanyRecords(visit)
    if not draft.changes:
        return Redirect(page_url(visit, entity_set, "/record", key=key, done="unchanged"))
    try:
        version = await records.update(entity_set, key, draft.tag, draft.changes)
    except Refusal as refusal:
        if refusal.error is not ENTITY_CHANGED:
            return _form(visit, entity_set, key, draft, refusal)
    else:
        return _redirect(visit, entity_set, "saved", version)
    try:
        now = await records.read(entity_set, key)
    except Refusal as refusal:
        return _form(visit, entity_set, key, draft, refusal)
    return await _conflict(visit, entity_set, key, draft, now)


def _form(
    visit: Visit, entity_set: EntitySet, key: str, draft: Draft, refusal: Refusal | None = None
) -> TemplatePage:
    """The form with a draft, and with the message of a refusal."""
    faults, problem = _faults(entity_set, refusal)
    if refusal is not None:
        faults |= _again(draft.secrets)
    context = _common(visit, entity_set, key, draft.read)
    context |= {
        "fields": form_fields(entity_set.type, draft.wanted, faults),
        "shown_properties": shown_properties(entity_set.type, draft.read, whole=False),
        "tag": draft.tag,
        "read": encoded(draft.read).decode(),
        "faults": faults,
        "problem": problem,
        # what was typed may become a new record
        "is_gone": refusal is not None and refusal.error is RECORD_NOT_FOUND,
        "chosen_key": "" if isinstance(entity_set.type.key_property.type, Guid) else key,
        "new_page": page_url(visit, entity_set, "/new"),
    }
    return TemplatePage("edit.html", _title(entity_set, draft.read, key), context, _status(refusal))


async def _conflict(
    visit: Visit,
    entity_set: EntitySet,
    key: str,
    draft: Draft,
    now: Version,
    chosen: Mapping[str, Side] | None = None,
) -> TemplatePage:
    """The page on which the user decides a conflict; `chosen` is what they have decided so far."""
    by_name = entity_set.type.by_name
    compared = [
        Compared(
            each.name,
            by_name[each.name].caption,
            shown(by_name[each.name], each.read),
            shown(by_name[each.name], each.now),
            shown(by_name[each.name], each.wanted),
            each.outcome,
            (chosen or {}).get(each.name, ""),
        )
        for each in differences(draft, now.values)
    ]
    again = _again(
        name
        for name in secrets(entity_set.type)
        if name in draft.secrets or (chosen is not None and visit.form.has(f"{SECRET}{name}"))
    )
    context = _common(visit, entity_set, key, now.values)
    context |= {
        "compared": compared,
        "is_undecided": chosen is not None,
        "author": await _author(visit, entity_set, key, now.tag),
        "tag": now.tag,
        "read": encoded(draft.read).decode(),
        "wanted": encoded(draft.wanted).decode(),
        "now": encoded(now.values).decode(),
        "secrets": [each for each in form_fields(entity_set.type, {}, again) if each.name in again],
        "merge_page": page_url(visit, entity_set, "/record/merge", key=key),
    }
    status = BAD_REQUEST.status if chosen is not None else ENTITY_CHANGED.status
    return TemplatePage("conflict.html", _title(entity_set, now.values, key), context, status)


def _new_form(
    visit: Visit, entity_set: EntitySet, values: Values, refusal: Refusal | None = None
) -> TemplatePage:
    faults, problem = _faults(entity_set, refusal, creating=True)
    faults |= _again(name for name in secrets(entity_set.type) if name in values)
    context = {
        "entity_set": entity_set,
        "set_page": page_url(visit, entity_set),
        "new_page": page_url(visit, entity_set, "/new"),
        "fields": form_fields(entity_set.type, values, faults, creating=True),
        "faults": faults,
        "problem": problem,
    }
    return TemplatePage("new.html", f"New {entity_set.type.caption}", context, _status(refusal))


def _question(
    visit: Visit,
    entity_set: EntitySet,
    key: str,
    version: Version,
    author: Author | None = None,
    changed: list[ChangedProperty] | None = None,
    refusal: Refusal | None = None,
) -> TemplatePage:
    context = _common(visit, entity_set, key, version.values)
    by_name = entity_set.type.by_name
    context |= {
        "shown_properties": shown_properties(entity_set.type, version.values, whole=True),
        "tag": version.tag,
        "read": encoded(version.values).decode(),
        "author": author,
        "has_changed": changed is not None,
        "changed": [
            (declared.caption, shown(declared, each.read), shown(declared, each.now))
            for each in changed or ()
            for declared in [by_name[each.name]]
        ],
        "problem": "" if refusal is None or changed is not None else refusal.message,
    }
    title = _delete_question(entity_set, version.values, key)
    return TemplatePage("delete.html", title, context, _status(refusal))


def _common(visit: Visit, entity_set: EntitySet, key: str, values: Values) -> dict[str, object]:
    """The common context of the pages of a record."""
    return {
        "entity_set": entity_set,
        "name": _name(entity_set, values, key),
        "set_page": page_url(visit, entity_set),
        "record_page": page_url(visit, entity_set, "/record", key=key),
        "delete_page": page_url(visit, entity_set, "/record/delete", key=key),
        "question": _delete_question(entity_set, values, key),
        "done": done(visit),
    }


def _title(entity_set: EntitySet, values: Values, key: str) -> str:
    caption = entity_set.type.caption
    return f"{caption[:1].upper()}{caption[1:]} {_name(entity_set, values, key)}"


def _delete_question(entity_set: EntitySet, values: Values, key: str) -> str:
    return f"Delete {entity_set.type.caption} {_name(entity_set, values, key)}?"


def _name(entity_set: EntitySet, values: Values, key: str) -> str:
    """The name of a record for people: its identification, a required value, or else its key."""
    entity_type = entity_set.type
    texts = [text_of(entity_type.by_name[name], values) for name in entity_type.identification]
    required = [
        text_of(each, values)
        for each in entity_type.properties
        if each.required and each.is_queried
    ]
    return next((text for text in (" ".join(texts), *required, key) if text.strip()), key).strip()


def _redirect(visit: Visit, entity_set: EntitySet, what: str, version: Version) -> Redirect:
    key, number = key_of(entity_set, version), change_number(entity_set, version.tag)
    change = "" if number is None else str(number)
    return Redirect(page_url(visit, entity_set, "/record", key=key, done=what, change=change))


def _may_edit(visit: Visit, entity_set: EntitySet) -> bool:
    return not entity_set.read_only and visit.may(ConsoleRole.EDITOR)


def _writable(visit: Visit) -> EntitySet:
    """The set of the address; raises `Refusal` (400) for one that only commands write."""
    entity_set = set_of(visit)
    if entity_set.read_only:
        raise refuse(errors.READ_ONLY_SET, set=entity_set.name)
    return entity_set


def _posted(visit: Visit, name: str) -> Values:
    """The values that a form carries; raises `Refusal` (400) if they are not JSON."""
    try:
        return decoded(visit.form.text(name))
    except ValueError:
        raise refuse(errors.FORM_FIELD, name=name) from None


def _changeable(entity_set: EntitySet, values: Values) -> Values:
    """The values of the properties that a form may change, without secrets."""
    return {
        each.name: values.get(each.name, empty(each))
        for each in editable(entity_set.type)
        if not each.secret
    }


def _field(declared: Property) -> str:
    """The name of the field for a property."""
    return f"{SECRET if declared.secret else FIELD}{declared.name}"


def _typed(visit: Visit, entity_set: EntitySet, read: Values) -> Values:
    """The values of a form; a property without a field keeps the one that was read."""
    form, by_name = visit.form, entity_set.type.by_name
    return {
        name: typed(by_name[name], form.text(f"{FIELD}{name}"), value)
        if form.has(f"{FIELD}{name}")
        else value
        for name, value in _changeable(entity_set, read).items()
    }


def _secrets(visit: Visit, entity_set: EntitySet) -> Values:
    """The secrets that the user has typed."""
    return {
        name: text
        for name in secrets(entity_set.type)
        if (text := visit.form.text(f"{SECRET}{name}"))
    }


def _faults(
    entity_set: EntitySet, refusal: Refusal | None, *, creating: bool = False
) -> tuple[dict[str, str], str]:
    """The messages of a refusal by the fields that they are about, and the one about no field."""
    if refusal is None:
        return {}, ""
    known = {each.name for each in editable(entity_set.type, creating=creating)}
    faults = dict(_messages(refusal))
    in_fields = {name: text for name, text in faults.items() if name in known}
    return in_fields, "" if in_fields else refusal.message


def _messages(refusal: Refusal) -> Iterator[tuple[str, str]]:
    """The places of a refusal with their messages; a rule may concern several properties."""
    details = [(each.target, each.message) for each in refusal.details]
    for target, text in details or [(refusal.target or "", refusal.message)]:
        for name in target.split(", "):
            yield name, text


def _again(typed_secrets: Iterable[str]) -> dict[str, str]:
    """The message at secrets that must be typed again, because no page shows them."""
    return dict.fromkeys(
        typed_secrets, "This secret was not saved. Type it again: no page shows it."
    )


def _status(refusal: Refusal | None) -> int:
    return 200 if refusal is None else refusal.error.status


async def _author(visit: Visit, entity_set: EntitySet, key: str, tag: str) -> Author | None:
    # the draft is more important than who made the conflict
    with suppress(Refusal):
        return await CompanyRecords(visit).author(entity_set, key, tag)
    return None


ENDPOINTS = (
    Endpoint("GET", f"/{SET}/new", new, ConsoleRole.EDITOR),
    Endpoint("POST", f"/{SET}/new", create, ConsoleRole.EDITOR),
    Endpoint("GET", f"/{SET}/record", show),
    Endpoint("POST", f"/{SET}/record", save, ConsoleRole.EDITOR),
    Endpoint("POST", f"/{SET}/record/merge", merge, ConsoleRole.EDITOR),
    Endpoint("GET", f"/{SET}/record/delete", ask, ConsoleRole.EDITOR),
    Endpoint("POST", f"/{SET}/record/delete", delete, ConsoleRole.EDITOR),
)
