"""The pages of a record: it is created, changed and deleted by forms, and conflicts are resolved.

A form carries the version of the record that its user has read, so nothing that others save
meanwhile is lost; and it is shown again with all that was typed, whatever the service refuses.
"""

from collections.abc import Iterable, Mapping
from typing import cast

from comptoir.auth.records import ConsoleRole
from comptoir.edm.types import Guid
from comptoir.errors.refusal import Refusal
from comptoir.errors.table import BAD_REQUEST, ENTITY_CHANGED, RECORD_NOT_FOUND
from comptoir.features.console import errors
from comptoir.features.console.captions import caption
from comptoir.features.console.company_records import (
    SET,
    ChangeLine,
    CompanyRecords,
    Version,
    change_number,
    is_number,
    key_of,
    list_url,
    page_url,
    set_of,
)
from comptoir.features.console.frame import Answer, Endpoint, Redirect, TemplatePage
from comptoir.features.console.record_form import (
    editable,
    form_fields,
    record_name,
    secrets,
    shown_properties,
)
from comptoir.features.console.screens.reading import links
from comptoir.features.console.values import (
    Draft,
    Side,
    Values,
    decoded,
    differences,
    empty,
    encoded,
    initial,
    presented,
    rebased,
    typed,
)
from comptoir.features.console.visit import Visit

FIELD = "field."
"""The prefix of fields for properties."""

CHOICE = "choice."
"""The prefix of fields for the choice between two values."""


class _Editor:
    """The record that a visit is about, and the pages with its forms."""

    def __init__(self, visit: Visit) -> None:
        """Raise `Refusal` (400) for a set that only commands write."""
        self._visit = visit
        self._set = set_of(visit)
        self._type = self._set.type
        self._key = visit.query.text("key")
        self._records = CompanyRecords(visit)
        if self._set.read_only:
            raise errors.READ_ONLY_SET(set=self._set.name)

    async def edited(self) -> Answer:
        """The form with the values of the record."""
        version = await self._records.read(self._set, self._key)
        return self._form(Draft(version.tag, version.values, self._changeable(version.values)))

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
            if (value := typed(each, self._visit.form.text(f"{FIELD}{each.name}"), initial(each)))
            != initial(each)
        }
        try:
            version = await self._records.create(self._set, values)
        except Refusal as refusal:
            return self.new(values, refusal)
        return self._redirect("created", version)

    async def restore(self) -> Answer:
        """Set what a change has changed to the values before it, in the record as it is now."""
        now = await self._records.read(self._set, self._key)
        wanted = self._changeable(now.values)
        before = (await self._change()).before
        earlier = {name: before[name] for name in wanted if name in before}
        return await self._saved(Draft(now.tag, now.values, {**wanted, **earlier}), "restored")

    async def drafted(self) -> Answer:
        """The form for a new record, with the values of a deleted one if the URL names a change."""
        if not self._visit.query.has("number"):
            return self.new({})
        before = (await self._change()).before
        known = {each.name for each in editable(self._type, creating=True) if not each.secret}
        return self.new({name: value for name, value in before.items() if name in known})

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
        errors, problem = self._errors(refusal, values, creating=True)
        context = {
            **links(self._visit, self._set),
            "set_page": page_url(self._visit, self._set),
            "fields": form_fields(self._type, values, errors, creating=True),
            "errors": errors,
            "problem": problem,
        }
        return TemplatePage(
            "new.html", f"New {caption(self._type).lower()}", context, _status(refusal)
        )

    async def _change(self) -> ChangeLine:
        """The change whose number the URL has; raises `Refusal` (404) for one of no values."""
        text = self._visit.query.text("number")
        number = int(text) if is_number(text) else 0
        line = await self._records.change(self._set, self._key, number)
        if not line.before:
            raise errors.NO_HISTORY(number=text)
        return line

    async def _saved(self, draft: Draft, what: str = "saved") -> Answer:
        if not draft.changes:
            address = page_url(self._visit, self._set, "/record", key=self._key, done="unchanged")
            return Redirect(address)
        try:
            version = await self._records.update(self._set, self._key, draft.tag, draft.changes)
            return self._redirect(what, version)
        except Refusal as refusal:
            if refusal.error is not ENTITY_CHANGED:
                return self._form(draft, refusal)
        try:
            return await self._conflict(draft, await self._records.read(self._set, self._key))
        except Refusal as refusal:
            return self._form(draft, refusal)

    def _form(self, draft: Draft, refusal: Refusal | None = None) -> TemplatePage:
        """The form with a draft, and with the message of a refusal."""
        errors, problem = self._errors(refusal, draft.secrets)
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
        )

    async def _conflict(
        self, draft: Draft, now: Version, chosen: Mapping[str, Side] | None = None
    ) -> TemplatePage:
        """The page on which the user decides a conflict; `chosen` is what is decided so far."""
        again = _again(
            name
            for name in secrets(self._type)
            if name in draft.secrets
            or (chosen is not None and self._visit.form.has(f"{FIELD}{name}"))
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
        name = record_name(self._type, values) or self._key
        common = {
            **links(self._visit, self._set, self._key, name),
            "name": name,
            "shown_properties": shown_properties(self._type, values, whole=is_whole),
            "caption_of": lambda each: caption(self._type.by_name[each.name]),
            "presented_of": lambda each, value: presented(self._type.by_name[each.name], value),
        }
        title = f"{caption(self._type)} {name}"
        return TemplatePage(template, title, common | context, status)

    def _redirect(self, what: str, version: Version) -> Redirect:
        key, number = key_of(self._set, version.values), change_number(self._set, version.tag)
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
        typed = {each: self._visit.form.text(f"{FIELD}{each}") for each in secrets(self._type)}
        return {name: text for name, text in typed.items() if text}

    def _errors(
        self, refusal: Refusal | None, sent: Values, *, creating: bool = False
    ) -> tuple[dict[str, str], str]:
        """The messages of a refusal by the fields that they are about, and one about no field.

        Secrets among the values that were `sent` have one too.
        """
        if refusal is None:
            return {}, ""
        known = {each.name for each in editable(self._type, creating=creating)}
        # a rule may concern several properties
        errors = {
            name: each.message
            for each in (refusal, *refusal.others)
            for name in (each.target or "").split(", ")
            if name in known
        }
        again = _again(each for each in secrets(self._type) if each in sent)
        return errors | again, "" if errors else refusal.message

    async def _author(self, tag: str) -> ChangeLine | None:
        number = change_number(self._set, tag)
        return await self._records.known_change(self._set, self._key, number)


def _again(typed_secrets: Iterable[str]) -> dict[str, str]:
    """The message at secrets that must be typed again, because no page shows them."""
    return dict.fromkeys(
        typed_secrets, "This secret was not saved. Type it again: no page shows it."
    )


def _text(values: Values) -> str:
    return encoded(values).decode()


def _status(refusal: Refusal | None) -> int:
    return 200 if refusal is None else refusal.error.status


ENDPOINTS = tuple(
    Endpoint(method, f"/{SET}{path}", handler, ConsoleRole.EDITOR)
    for method, path, handler in (
        ("GET", "/new", lambda visit: _Editor(visit).drafted()),
        ("POST", "/new", lambda visit: _Editor(visit).create()),
        ("GET", "/record/edit", lambda visit: _Editor(visit).edited()),
        ("POST", "/record/edit", lambda visit: _Editor(visit).save()),
        ("POST", "/record/merge", lambda visit: _Editor(visit).merge()),
        ("POST", "/record/restore", lambda visit: _Editor(visit).restore()),
        ("GET", "/record/delete", lambda visit: _Editor(visit).asked()),
        ("POST", "/record/delete", lambda visit: _Editor(visit).delete()),
    )
)
