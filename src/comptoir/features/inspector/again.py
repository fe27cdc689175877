"""Edit and send again: a kept request as a form, which is sent with the rights of the user."""

import re
from collections.abc import Sequence
from string import punctuation
from urllib.parse import quote, unquote

from msgspec.structs import replace

from comptoir.auth.origins import CONSOLE
from comptoir.errors import refusal_rows as rows
from comptoir.errors.refusal import Refusal
from comptoir.features.console.form import Form, form_page
from comptoir.features.console.frame import Answer as Page
from comptoir.features.console.visit import FormData, Visit
from comptoir.features.inspector import InspectorSettings, errors, exchanges, record
from comptoir.http.exchange import check_url
from comptoir.http.log import short_path
from comptoir.http.redaction import MASK, Redactor
from comptoir.response.errors import ErrorWriter
from comptoir.response.response import whole_body

METHODS = ("GET", "POST", "PATCH", "PUT", "DELETE", "HEAD")

_HEADER = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\t\x20-\x7e\x80-\xff]*)")
_UNENCODED = punctuation.replace("#", "")
"""Characters that an address may have as they are; a fragment is not sent."""
_CONDITIONS = ("if-match:", "if-none-match:")


class _Editor:
    """The form with a request, whose fields are checked one by one."""

    def __init__(self, visit: Visit, found: record.ExchangeRecord) -> None:
        self._visit, self._found, self._settings = visit, found, visit.backend.settings
        kept = [
            each for each in found.request.headers if each[0].lower() not in exchanges.OWN_HEADERS
        ]
        self._kept = {
            "method": found.method,
            "address": f"{found.path}?{found.query}" if found.query else found.path,
            "headers": "\n".join(map(": ".join, kept)),
            "body": exchanges.pretty(found.request.body.text or ""),
        }
        is_sent = visit.request.method == "POST"
        self.form = Form(visit.form if is_sent else FormData([*self._kept.items()]))

    async def fill_tag(self) -> str:
        """Replace the condition in the headers by the ETag of the record, which it returns."""
        about = await exchanges.requested_record(self._draft(self._found.request), self._visit)
        if about is None or not about.tag:
            self.form.refuse("address", errors.NO_TAG())
            return ""
        lines = _typed(self.form.text("headers")).split("\n")
        others = [each for each in lines if not each.lower().startswith(_CONDITIONS)]
        filled = "\n".join([*others, f"If-Match: {about.tag}"])
        pairs = self.form.data.pairs
        self.form.data = FormData([(n, filled if n == "headers" else v) for n, v in pairs])
        return about.tag

    def read(self) -> record.ExchangeRecord | None:
        """The request that the form has; None if a field is not valid, which is shown."""
        if self.form.text("method") not in METHODS:
            self.form.refuse("method", errors.UNKNOWN_CHOICE())
        self.form.read("address", self._check_address)
        headers = self.form.read("headers", self._headers)
        body = self.form.read("body", self._body)
        cut = [*exchanges.cut_fields(self._found)]
        for name in ("address", "headers", "body"):
            # a masked secret, and a part that is as it was kept, cut
            text = _typed(self.form.text(name))
            if MASK in text or (name in cut and text == self._kept[name].strip()):
                self.form.refuse(name, errors.NOT_COMPLETE(mask=MASK))
        if headers is None or body is None or self.form.errors:
            return None
        return self._draft(record.Message(headers, record.KeptBody(len(body), body)))

    def _draft(self, request: record.Message) -> record.ExchangeRecord:
        path, _, query = quote(self.form.text("address"), safe=_UNENCODED).partition("?")
        method = self.form.text("method")
        return replace(self._found, method=method, path=path, query=query, request=request)

    def _check_address(self, _: str) -> None:
        draft = self._draft(self._found.request)
        if exchanges.why_not_replayable(draft, self._visit.backend.routes):
            raise errors.OTHER_PATH(base=self._settings.base_path)
        check_url(self._settings, len(draft.path), draft.query)

    def _headers(self, text: str) -> Sequence[tuple[str, str]]:
        if len(text) > self._settings.header_bytes:
            raise rows.LARGE_HEAD(limit=self._settings.header_bytes)
        headers: list[tuple[str, str]] = []
        for number, line in enumerate(_typed(text).split("\n"), 1):
            if not line.strip(" \t"):
                continue
            found = _HEADER.fullmatch(line.strip(" \t"))
            if found is None:
                raise errors.HEADER_LINE(line=number, text=line)
            if found[1].lower() in exchanges.OWN_HEADERS:
                raise errors.OWN_HEADER(name=found[1])
            headers.append((found[1], found[2]))
        return headers

    def _body(self, text: str) -> str:
        body, limit = _typed(text), self._settings.body_bytes
        if len(body.encode()) > limit:
            raise rows.LARGE_BODY(limit=limit)
        return body


def _typed(text: str) -> str:
    """A text as it was typed: browsers send each line end as CR LF."""
    return text.replace("\r\n", "\n")


async def again(visit: Visit) -> Page:
    """The form with a kept request; a POST sends it, and shows both responses side by side."""
    found = await exchanges.found_request(visit)
    why_not = exchanges.why_not_replayable(found, visit.backend.routes)
    if why_not:
        raise errors.NOT_REPLAYABLE(reason=why_not)
    editor, tag, answer = _Editor(visit, found), "", None
    form = editor.form
    if visit.query.has("tag") or visit.form.has("tag"):
        tag = await editor.fill_tag()
    elif visit.request.method == "POST" and (draft := editor.read()) is not None:
        answer = await _sent(visit, draft)
    page = visit.url(f"{CONSOLE}/requests/{found.id}")
    return form_page(
        "again.html",
        "Edit and send again",
        form,
        found=found,
        asked=short_path(unquote(found.path)),
        methods=[(each, each) for each in dict.fromkeys([*METHODS, form.text("method")])],
        missing_part=exchanges.missing_part(found),
        tag=tag,
        answer=answer,
        differing=() if answer is None else _lines(found.response) ^ _lines(answer),
        pretty=exchanges.pretty,
        page=page,
    )


def _lines(message: record.Message) -> frozenset[str]:
    return frozenset(exchanges.pretty(message.body.text or "").split("\n"))


async def _sent(visit: Visit, draft: record.ExchangeRecord) -> record.Answer:
    """The response to a request as the user, without secrets, as a client would get it."""
    backend, settings = visit.backend, visit.backend.settings
    headers, body = exchanges.headers_of(draft.request), (draft.request.body.text or "").encode()
    try:
        place = await backend.with_company_id(visit.principal, draft.path, draft.query, headers)
        response = await backend.answer_at(visit.principal, draft.method, place, body)
    except Refusal as refusal:
        writer = ErrorWriter(settings.behaviour)
        response = writer.response(refusal, visit.exchange.id, headers)
    answered = record.Answered(response, settings.of(InspectorSettings).inspect_body_bytes)
    # it is noted
    await whole_body(response)
    scribe = record.Scribe(Redactor.of(backend.model))
    return scribe.answer(draft.path, draft.query, body, answered)
