"""Edit and send again: a kept request as a form, which is sent with the rights of the user."""

import re
from collections.abc import Sequence
from contextlib import aclosing
from string import punctuation
from urllib.parse import quote

from msgspec.structs import replace

from comptoir.auth.origins import CONSOLE
from comptoir.errors import refusal_rows as rows
from comptoir.errors.refusal import Refusal
from comptoir.errors.table import BAD_REQUEST
from comptoir.features.console.form import Form
from comptoir.features.console.frame import Answer as Page
from comptoir.features.console.frame import TemplatePage
from comptoir.features.console.visit import FormData, Visit
from comptoir.features.inspector import InspectorSettings, errors
from comptoir.features.inspector.exchanges import (
    OWN_HEADERS,
    found_request,
    headers_of,
    is_batch,
    lacks_body,
    lacks_url,
    missing_part,
    pretty,
    repeated,
    requested_record,
    shown_path,
    why_not_replayable,
)
from comptoir.features.inspector.record import (
    Answer,
    Answered,
    ExchangeRecord,
    KeptBody,
    Message,
    Scribe,
)
from comptoir.http.exchange import UrlLimits
from comptoir.http.redaction import MASK, Redactor
from comptoir.response.errors import ErrorWriter

METHODS = ("GET", "POST", "PATCH", "PUT", "DELETE", "HEAD")

_HEADER = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\t\x20-\x7e\x80-\xff]*)")
_UNENCODED = punctuation.replace("#", "")
"""Characters that an address may have as they are; a fragment is not sent."""


class _Editor:
    """The form with a request, whose fields are checked one by one."""

    def __init__(self, visit: Visit, found: ExchangeRecord) -> None:
        self._visit = visit
        self._found = found
        self._settings = visit.backend.settings
        query = f"?{found.query}" if found.query else ""
        self._kept = {
            "method": found.method,
            "address": f"{found.path}{query}",
            "headers": "\n".join(f"{name}: {value}" for name, value in repeated(found.request)),
            "body": pretty(found.request.body.text or ""),
        }
        self.is_sent = visit.request.method == "POST"
        self.form = Form(visit.form if self.is_sent else FormData([*self._kept.items()]))
        self.tag = ""

    async def fill_tag(self) -> None:
        """Replace the condition among the headers by the ETag that the record has now."""
        draft = self._addressed()
        if draft is None:
            return
        about = await requested_record(draft, self._visit)
        if about is None or not about.tag:
            self.form.refuse("address", errors.NO_TAG())
            return
        self.tag = about.tag
        lines = [f"{name}: {value}" for name, value in draft.request.headers]
        others = [each for each in lines if not each.lower().startswith(("if-match:", "if-none-"))]
        headers = "\n".join([*others, f"If-Match: {about.tag}"])
        pairs = self.form.data.pairs
        self.form.data = FormData([(n, headers if n == "headers" else v) for n, v in pairs])

    def draft(self) -> ExchangeRecord | None:
        """The request that the form has; None if a field is not valid, which is shown."""
        method = self.form.read("method", self._method)
        addressed = self._addressed()
        body = self.form.read("body", self._body)
        if addressed is None or method is None or body is None:
            return None
        return replace(addressed, request=Message(addressed.request.headers, body))

    def _addressed(self) -> ExchangeRecord | None:
        address = self.form.read("address", self._address)
        headers = self.form.read("headers", self._headers)
        if address is None or headers is None:
            return None
        path, _, query = address.partition("?")
        method, request = self.form.text("method"), Message(headers)
        return replace(self._found, method=method, path=path, query=query, request=request)

    def _method(self, text: str) -> str:
        if text not in METHODS:
            raise errors.UNKNOWN_METHOD(method=text)
        return text

    def _address(self, text: str) -> str:
        self._check_complete("address", text, is_cut=lacks_url(self._found))
        address = quote(text, safe=_UNENCODED)
        path, _, query = address.partition("?")
        if not self._visit.backend.routes.serves(path.encode()):
            raise errors.OTHER_PATH(base=self._settings.base_path)
        if is_batch(path):
            raise errors.PATH_OF_BATCH()
        UrlLimits(self._settings).check(len(path), query)
        return address

    def _headers(self, text: str) -> Sequence[tuple[str, str]]:
        self._check_complete("headers", text)
        limit = self._settings.header_bytes
        if len(text) > limit:
            raise rows.LARGE_HEAD(limit=limit)
        headers: list[tuple[str, str]] = []
        for number, line in enumerate(_lines(text).split("\n"), 1):
            found = _HEADER.fullmatch(line.strip(" \t"))
            if found is not None and found[1].lower() not in OWN_HEADERS:
                headers.append((found[1], found[2]))
            elif found is not None:
                raise errors.OWN_HEADER(name=found[1], by=self._visit.login.by)
            elif line.strip(" \t"):
                raise errors.HEADER_LINE(line=number, text=line)
        return headers

    def _body(self, text: str) -> KeptBody:
        self._check_complete("body", text, is_cut=lacks_body(self._found))
        body, limit = _lines(text), self._settings.body_bytes
        length = len(body.encode())
        if length > limit:
            raise rows.LARGE_BODY(limit=limit)
        return KeptBody(length, body)

    def _check_complete(self, name: str, text: str, *, is_cut: bool = False) -> None:
        """Raise `Refusal` for a secret that is masked, and for a part that is kept and cut."""
        if MASK in text:
            raise errors.WITH_MASK(mask=MASK)
        if is_cut and _lines(text) == self._kept[name].strip():
            raise errors.NOT_COMPLETE()


async def again(visit: Visit) -> Page:
    """The form with a kept request; a POST sends it, and shows both responses side by side."""
    found = await found_request(visit)
    why_not = why_not_replayable(found, visit.backend.routes)
    if why_not:
        raise errors.NOT_REPLAYABLE(reason=why_not)
    editor, answer = _Editor(visit, found), None
    form = editor.form
    if visit.query.has("tag") or visit.form.has("tag"):
        await editor.fill_tag()
    elif editor.is_sent and (draft := editor.draft()) is not None:
        answer = await _sent(visit, draft)
    page = f"{CONSOLE}/requests/{found.id}"
    context = {
        "found": found,
        "asked": shown_path(found),
        "form": form,
        "methods": [(each, each) for each in dict.fromkeys([*METHODS, form.text("method")])],
        "missing_part": missing_part(found),
        "left_out": sorted(
            name
            for name, value in found.request.headers
            if MASK in value and name.lower() not in OWN_HEADERS
        ),
        "tag": editor.tag,
        "sides": () if answer is None else _sides(found, answer),
        "differing": () if answer is None else _differing(found.response, answer.message),
        "pretty": pretty,
        "back": visit.url(page),
        "again": visit.url(f"{page}/again"),
    }
    status = BAD_REQUEST.status if form.errors else 200
    return TemplatePage("again.html", "Edit and send again", context, status)


def _sides(found: ExchangeRecord, answer: Answer) -> Sequence[tuple[str, str, Answer]]:
    first = Answer(found.status, found.response, found.check, found.problem)
    return (("First response", "first", first), ("New response", "new", answer))


def _differing(first: Message, new: Message) -> frozenset[str]:
    """The lines that only one of two bodies has."""
    lines = [frozenset(pretty(each.body.text or "").split("\n")) for each in (first, new)]
    return lines[0] ^ lines[1]


async def _sent(visit: Visit, draft: ExchangeRecord) -> Answer:
    """The response to a request as the user, without secrets, as a client would get it."""
    backend, settings = visit.backend, visit.backend.settings
    headers, body = headers_of(draft.request), (draft.request.body.text or "").encode()
    try:
        place = await backend.with_company_id(visit.principal, draft.path, draft.query, headers)
        response = await backend.answer_at(visit.principal, draft.method, place, body)
    except Refusal as refusal:
        writer = ErrorWriter(settings.behaviour)
        response = writer.response(refusal, visit.exchange.id, headers)
    answered = Answered(response, settings.of(InspectorSettings).inspect_body_bytes)
    if not isinstance(response.body, bytes):
        async with aclosing(response.body) as pieces:
            async for _ in pieces:
                # it is noted
                pass
    scribe = Scribe(Redactor.of(backend.model))
    return scribe.answer(draft.path, draft.query, body, answered)


def _lines(text: str) -> str:
    """A text as it was typed: browsers send each line end as CR LF."""
    return text.replace("\r\n", "\n")
