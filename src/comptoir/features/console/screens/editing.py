"""The pages of a record: it is created, changed and deleted by forms, and conflicts are resolved.

A form carries the version of the record that its user has read, so nothing that others save
meanwhile is lost; and it is shown again with all that was typed, whatever the service refuses.
"""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import cast

from comptoir.auth.records import ConsoleRole
from comptoir.edm.model import Property
from comptoir.edm.types import Guid
from comptoir.errors.refusal import Refusal
from comptoir.errors.table import BAD_REQUEST, ENTITY_CHANGED, RECORD_NOT_FOUND
from comptoir.features.console import errors
from comptoir.features.console.company_records import (
    SET,
    Author,
    CompanyRecords,
    Version,
    change_number,
    key_of,
    list_url,
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
from comptoir.features.console.record_query import heading
from comptoir.features.console.values import (
    Draft,
    Side,
    Values,
    decoded,
    differences,
    empty,
    encoded,
    initial,
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


def done(visit: Visit) -> str:
    """The last act of the user, blank if none."""
    text, change = _DONE.get(visit.query.text("done"), ""), visit.query.text("change")
    if not text:
        return ""
    return f"{text}, as change {change}." if change.isascii() and change.isdigit() else f"{text}."


class _Editor:
    """The record that a visit is about, and the pages with its forms."""

    def __init__(self, visit: Visit, *, writes: bool = True) -> None:
        """Raise `Refusal` (400) if it `writes` to a set that only commands write."""
        self._visit = visit
        self._set = set_of(visit)
        self._type = self._set.type
        self._key = visit.query.text("key")
        self._records = CompanyRecords(visit)
        if writes and self._set.read_only:
            raise errors.READ_ONLY_SET(set=self._set.name)

    async def shown(self) -> Answer:
        """A form for editors, and otherwise the values."""
        version = await self._records.read(self._set, self._key)
        if self._set.read_only or not self._visit.may(ConsoleRole.EDITOR):
            return self._page("record.html", version.values, is_whole=True)
        wanted = self._changeable(version.values)
        return self._form(Draft(version.tag, version.values, wanted))

    async def save(self) -> Answer:
        """Save what the user has changed."""
        read, form = self._posted("read"), self._visit.form
        # a property without a field keeps the value that was read
        wanted = {
            name: typed(self._type.by_name[name], form.text(f"{FIELD}{name}"), value)
            if form.has(f"{FIELD}{name}")
            else value
            for name, value in self._changeable(read).items()
        }
        return await self._saved(Draft(form.text("tag"), read, wanted, self._typed_secrets()))

    async def merge(self) -> Answer:
        """Save a draft over a change of somebody else, after the user has decided the conflict."""
        form = self._visit.form
        wanted = self._changeable(self._posted("wanted"))
        draft = Draft("", self._posted("read"), wanted, self._typed_secrets())
        now = Version(form.text("tag"), self._posted("now"))
        chosen = {
            each.name: cast("Side", form.text(f"{CHOICE}{each.name}"))
            for each in editable(self._type)
            if form.text(f"{CHOICE}{each.name}") in ("yours", "theirs")
        }
        merged = rebased(draft, now.tag, now.values, chosen)
        if merged is None:
            return await self._conflict(draft, now, chosen)
        return self._form(merged) if form.has("edit") else await self._saved(merged)

    async def create(self) -> Answer:
        """Create a record of what the user has typed; what is empty gets the service's value."""
        values = {
            each.name: value
            for each in editable(self._type, creating=True)
            if (value := typed(each, self._visit.form.text(_field(each)), initial(each)))
            != initial(each)
        }
        try:
            version = await self._records.create(self._set, values)
        except Refusal as refusal:
            return self.new(values, refusal)
        return self._redirect("created", version)

    async def asked(self) -> Answer:
        """The question whether to delete the record."""
        return self._question(await self._records.read(self._set, self._key))

    async def delete(self) -> Answer:
        """Delete the record, unless somebody has changed it since the user was asked."""
        asked = Version(self._visit.form.text("tag"), self._posted("read"))
        try:
            await self._records.delete(self._set, self._key, asked.tag)
        except Refusal as refusal:
            if refusal.error is not ENTITY_CHANGED:
                return self._question(asked, refusal, problem=refusal.message)
            now = await self._records.read(self._set, self._key)
            unchanged = Draft(asked.tag, asked.values, self._changeable(asked.values))
            return self._question(
                now,
                refusal,
                has_changed=True,
                changed=list(differences(unchanged, now.values)),
                author=await self._author(now.tag),
            )
        return Redirect(list_url(self._visit, self._set, done="deleted"))

    def new(self, values: Values, refusal: Refusal | None = None) -> TemplatePage:
        """The form for a new record."""
        errors, problem = self._errors(refusal, creating=True)
        errors |= _again(name for name in secrets(self._type) if name in values)
        context = {
            "entity_set": self._set,
            "set_page": page_url(self._visit, self._set),
            "new_page": page_url(self._visit, self._set, "/new"),
            "fields": form_fields(self._type, values, errors, creating=True),
            "errors": errors,
            "problem": problem,
        }
        return TemplatePage("new.html", f"New {self._type.caption}", context, _status(refusal))

    async def _saved(self, draft: Draft) -> Answer:
        if not draft.changes:
            address = page_url(self._visit, self._set, "/record", key=self._key, done="unchanged")
            return Redirect(address)
        try:
            version = await self._records.update(self._set, self._key, draft.tag, draft.changes)
        except Refusal as refusal:
            if refusal.error is not ENTITY_CHANGED:
                return self._form(draft, refusal)
        else:
            return self._redirect("saved", version)
        try:
            now = await self._records.read(self._set, self._key)
        except Refusal as refusal:
            return self._form(draft, refusal)
        return await self._conflict(draft, now)

    def _form(self, draft: Draft, refusal: Refusal | None = None) -> TemplatePage:
        """The form with a draft, and with the message of a refusal."""
        errors, problem = self._errors(refusal)
        if refusal is not None:
            errors |= _again(draft.secrets)
        return self._page(
            "edit.html",
            draft.read,
            _status(refusal),
            fields=form_fields(self._type, draft.wanted, errors),
            tag=draft.tag,
            read=_text(draft.read),
            errors=errors,
            problem=problem,
            # what was typed may become a new record
            is_gone=refusal is not None and refusal.error is RECORD_NOT_FOUND,
            chosen_key="" if isinstance(self._type.key_property.type, Guid) else self._key,
            new_page=page_url(self._visit, self._set, "/new"),
        )

    async def _conflict(
        self, draft: Draft, now: Version, chosen: Mapping[str, Side] | None = None
    ) -> TemplatePage:
        """The page on which the user decides a conflict; `chosen` is what is decided so far."""
        again = _again(
            name
            for name in secrets(self._type)
            if name in draft.secrets
            or (chosen is not None and self._visit.form.has(f"{SECRET}{name}"))
        )
        return self._page(
            "conflict.html",
            now.values,
            BAD_REQUEST.status if chosen is not None else ENTITY_CHANGED.status,
            compared=list(differences(draft, now.values)),
            chosen=chosen or {},
            is_undecided=chosen is not None,
            author=await self._author(now.tag),
            tag=now.tag,
            read=_text(draft.read),
            wanted=_text(draft.wanted),
            now=_text(now.values),
            secrets=[each for each in form_fields(self._type, {}, again) if each.name in again],
            merge_page=page_url(self._visit, self._set, "/record/merge", key=self._key),
        )

    def _question(
        self, version: Version, refusal: Refusal | None = None, **context: object
    ) -> TemplatePage:
        usual = {"has_changed": False, "changed": (), "author": None, "problem": ""}
        page = self._page(
            "delete.html",
            version.values,
            _status(refusal),
            is_whole=True,
            tag=version.tag,
            read=_text(version.values),
            **{**usual, **context},
        )
        return page._replace(title=str(page.context["question"]))

    def _page(
        self,
        template: str,
        values: Values,
        status: int = 200,
        *,
        is_whole: bool = False,
        **context: object,
    ) -> TemplatePage:
        """A page of the record; if `is_whole`, it shows all values, else those of no form."""
        visit, entity_set, caption = self._visit, self._set, self._type.caption
        name = self._name(values)
        common = {
            "entity_set": entity_set,
            "name": name,
            "set_page": list_url(visit, entity_set),
            "record_page": page_url(visit, entity_set, "/record", key=self._key),
            "delete_page": page_url(visit, entity_set, "/record/delete", key=self._key),
            "question": f"Delete {caption} {name}?",
            "done": done(visit),
            "shown_properties": shown_properties(self._type, values, whole=is_whole),
            "shown": lambda each, value: shown(self._type.by_name[each.name], value),
        }
        title = f"{caption[:1].upper()}{caption[1:]} {name}"
        return TemplatePage(template, title, common | context, status)

    def _name(self, values: Values) -> str:
        """The name for people: the record's identification, a required value, or else its key."""
        by_name = self._type.by_name
        known = [each for each in self._type.identification if each != self._type.key]
        texts = [" ".join([text_of(by_name[each], values) for each in known])]
        texts.append(text_of(by_name[heading(self._type)], values))
        texts += [
            text_of(each, values)
            for each in self._type.properties
            if each.required and each.is_queried
        ]
        return next((each.strip() for each in texts if each.strip()), self._key)

    def _redirect(self, what: str, version: Version) -> Redirect:
        key, number = key_of(self._set, version), change_number(self._set, version.tag)
        change = "" if number is None else str(number)
        address = page_url(self._visit, self._set, "/record", key=key, done=what, change=change)
        return Redirect(address)

    def _posted(self, name: str) -> Values:
        """The values that a form carries; raises `Refusal` (400) if they are not JSON."""
        try:
            return decoded(self._visit.form.text(name))
        except ValueError:
            raise errors.FORM_FIELD(name=name) from None

    def _changeable(self, values: Values) -> Values:
        """The values of the properties that a form may change, without secrets."""
        return {
            each.name: values.get(each.name, empty(each))
            for each in editable(self._type)
            if not each.secret
        }

    def _typed_secrets(self) -> Values:
        """The secrets that the user has typed."""
        typed = {each: self._visit.form.text(f"{SECRET}{each}") for each in secrets(self._type)}
        return {name: text for name, text in typed.items() if text}

    def _errors(
        self, refusal: Refusal | None, *, creating: bool = False
    ) -> tuple[dict[str, str], str]:
        """The messages of a refusal by the fields that they are about, and one about no field."""
        if refusal is None:
            return {}, ""
        known = {each.name for each in editable(self._type, creating=creating)}
        details = [(each.target, each.message) for each in refusal.details]
        # a rule may concern several properties
        errors = {
            name: text
            for target, text in details or [(refusal.target or "", refusal.message)]
            for name in target.split(", ")
            if name in known
        }
        return errors, "" if errors else refusal.message

    async def _author(self, tag: str) -> Author | None:
        # the draft is more important than who made the conflict
        with suppress(Refusal):
            return await self._records.author(self._set, self._key, change_number(self._set, tag))
        return None


def _field(declared: Property) -> str:
    """The name of the field for a property."""
    return f"{SECRET if declared.secret else FIELD}{declared.name}"


def _again(typed_secrets: Iterable[str]) -> dict[str, str]:
    """The message at secrets that must be typed again, because no page shows them."""
    return dict.fromkeys(
        typed_secrets, "This secret was not saved. Type it again: no page shows it."
    )


def _text(values: Values) -> str:
    return encoded(values).decode()


def _status(refusal: Refusal | None) -> int:
    return 200 if refusal is None else refusal.error.status


async def _new(visit: Visit) -> Answer:
    return _Editor(visit).new({})


ENDPOINTS = (
    Endpoint("GET", f"/{SET}/new", _new, ConsoleRole.EDITOR),
    Endpoint("POST", f"/{SET}/new", lambda visit: _Editor(visit).create(), ConsoleRole.EDITOR),
    Endpoint("GET", f"/{SET}/record", lambda visit: _Editor(visit, writes=False).shown()),
    Endpoint("POST", f"/{SET}/record", lambda visit: _Editor(visit).save(), ConsoleRole.EDITOR),
    Endpoint(
        "POST", f"/{SET}/record/merge", lambda visit: _Editor(visit).merge(), ConsoleRole.EDITOR
    ),
    Endpoint(
        "GET", f"/{SET}/record/delete", lambda visit: _Editor(visit).asked(), ConsoleRole.EDITOR
    ),
    Endpoint(
        "POST", f"/{SET}/record/delete", lambda visit: _Editor(visit).delete(), ConsoleRole.EDITOR
    ),
)
