"""Writing records: each write, and each atomic group of writes, is one unit of work."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from functools import partial
from hashlib import sha256
from uuid import UUID, uuid5

import msgspec

from comptoir.edm.model import Action, EntitySet
from comptoir.edm.record_json import opaque_tag
from comptoir.edm.times import instant
from comptoir.errors import refusal_rows as rows
from comptoir.errors.refusal import Refusal
from comptoir.jsonvalue import Json
from comptoir.plan import write as plans
from comptoir.plan.target import RecordPath, Resource, may_read
from comptoir.request.headers import ANY_TAG, MINIMAL, TOKEN, EntityTags, names_protocol
from comptoir.request.options import NO_OPTIONS
from comptoir.request.path import READ_METHODS
from comptoir.request.payload import (
    FIRST_SENT,
    REQUEST_ID,
    RESULT,
    parse_object,
    repeatability,
    require_json,
    tag_within,
)
from comptoir.response.response import ODATA_VERSION, Header, Response
from comptoir.service.context import RECORD_OPTIONS, Context, Request, Respond, Run, allow_options
from comptoir.service.views import view_of_records
from comptoir.store.store import Store
from comptoir.store.unit import Written
from comptoir.store.writes import GroupRefusal

_NAMES = {"POST": "a create", "PATCH": "an update", "PUT": "an update", "DELETE": "a delete"}

_SKEW = timedelta(minutes=5)
"""The most by which a client's clock may be fast."""

_DIGESTED = (b"if-match", b"if-none-match")
"""The headers that a repeated request must repeat."""

_WITHOUT_CONTENT = frozenset({Resource.STREAM, Resource.ACTION})
"""The resources whose writes have no record in the response."""

_TOKEN = TOKEN.lower().encode()
_ACCEPTED: Header = (RESULT.lower().encode(), b"accepted")


async def write_record(context: Context) -> Run:
    """Create, update, replace or delete a record, depending on the method."""
    return partial(_run, context, await plan_write(context))


async def _run(context: Context, plan: plans.WritePlan) -> Respond:
    return partial(_respond, context, plan, await context.runtime.store.write(plan))


async def plan_write(context: Context) -> plans.WritePlan:
    """Plan the write of a request; raises `Refusal` for errors that need no record to detect.

    `$select` applies to the record in the response (OData Protocol 4.01, section 11.4).
    """
    options, method = context.options, context.request.method
    if context.target.action is not None:
        allow_options(options, frozenset(), Resource.ACTION)
        return await _act(context, context.target.action)
    if context.target.resource is Resource.STREAM:
        allow_options(options, frozenset(), "an update of a stream")
        return await _replace_stream(context)
    if options is not NO_OPTIONS:
        allowed = frozenset[str]() if method == "DELETE" else RECORD_OPTIONS
        if options.expand is not None and allowed:
            raise rows.EXPAND_WRITTEN("$expand", action=_NAMES[method])
        allow_options(options, allowed, _NAMES[method])
        context.records, _ = view_of_records(context)
    return await _PLANNERS[method](context)


async def _respond(context: Context, plan: plans.WritePlan, written: Written) -> Response:
    """The response to a write: the record, or if the client prefers its address and ETag.

    If the path does not name the record by its key, the write may have changed what the path
    names, so the response has the record's address too. It always has a consistency token. A
    principal whose roles do not allow to read the record gets only the address of a new one.
    """
    is_shown = may_read(context.entity_set, context.readable)
    token = (_TOKEN, opaque_tag(written.company, written.number).encode())
    extra = [token] if plan.repeat is None else [token, _ACCEPTED]
    if isinstance(plan, plans.DeletePlan):
        return Response(204, [ODATA_VERSION, *extra])
    records, company, row = context.records, written.company, written.row
    creates = isinstance(plan, plans.CreatePlan)
    if context.runtime.write_rules.tag_of_created or not creates:
        extra.insert(0, context.etag(company, row[0]))
    if context.target.resource in _WITHOUT_CONTENT:
        return Response(204, [ODATA_VERSION, *extra])
    sent = context.preferences
    obeys_return = context.runtime.write_rules.short_by == "return=minimal"
    minimal = sent.returns == MINIMAL if obeys_return else sent.no_content
    minimal = minimal or not is_shown
    headers = [ODATA_VERSION] if minimal else context.headers()
    headers += extra
    if is_shown and obeys_return and sent.returns is not None:
        headers.append((b"preference-applied", sent.applied(returns=True)))
    path = ""
    if creates or (is_shown and (minimal or plan.key is None)):
        path = records.path(company, records.key(row))
        link = records.root.link(path).encode()
        if creates:
            headers.append((b"location", link))
        if minimal or plan.key is None:
            headers.append((b"odata-entityid", link))
    if minimal:
        return Response(204, headers, path=path)
    if written.json is not None and records.fits_json:
        _, body = records.spliced(company, written.json)
    else:
        body = records.record(company, row)
    return Response(201 if creates else 200, headers, body, path=path)


async def _create(context: Context) -> plans.WritePlan:
    headers, entity_set = context.request.headers, context.entity_set
    ieee754 = require_json(headers)
    content = await context.request.read_body()
    may_guard = entity_set.create_guarded and entity_set.if_match
    rules = context.runtime.write_rules
    is_guarded = may_guard and rules.tags["POST"] == "required"
    if_match = context.tags(b"if-match") if is_guarded else None
    if_none_match = _if_none_match(context)
    must_not_exist = if_none_match is not None and if_none_match.any
    unguarded = if_match is None and not must_not_exist
    if is_guarded and unguarded and not names_protocol(headers):
        raise rows.CREATE_UNTAGGED("If-Match", set=entity_set.name)
    repeat = _repeat(context, content)
    spare_key = None if repeat is None else _repeatable_key(context, repeat)
    sent = parse_object(content)
    related = _related(context, sent, ieee754=ieee754) if rules.related else ()
    body = _binder(context, entity_set, sent, ieee754=ieee754)
    steps, within, given = context.target.steps, None, set[str]()
    if steps:
        within = RecordPath(context.target, context.company)
        given = {steps[-1].navigation.on[1], *steps[-1].navigation.only}
    return plans.CreatePlan(
        entity_set=entity_set,
        company=context.required_company(),
        body=body.create(spare_key=spare_key, given=given),
        by=context.request.principal.subject,
        within=within,
        if_match=if_match,
        must_not_exist=must_not_exist,
        repeat=repeat,
        related=related,
    )


def _binder(
    context: Context, entity_set: EntitySet, sent: dict[str, Json], *, ieee754: bool
) -> plans.BodyBinder:
    computed = context.runtime.write_rules.computed
    return plans.BodyBinder(entity_set.type, sent, computed, ieee754=ieee754)


def _related(
    context: Context, sent: dict[str, Json], *, ieee754: bool
) -> tuple[plans.RelatedWrite, ...]:
    """The creates of the related records, which are removed from the body."""
    company, principal = context.required_company(), context.request.principal

    def plan(target: EntitySet, values: dict[str, Json], given: Set[str]) -> plans.CreatePlan:
        body = _binder(context, target, values, ieee754=ieee754).create(given=given)
        return plans.CreatePlan(entity_set=target, company=company, body=body, by=principal.subject)

    model = context.runtime.models[context.options.schemaversion]
    return plans.take_related(model, context.entity_set, sent, principal.rights, plan)


async def _change(context: Context) -> plans.WritePlan:
    """Plan an update or a replacement, or with If-None-Match: * a create with the path's key.

    An ETag in the body may be used if neither header says which version is meant.
    """
    request, entity_set = context.request, context.entity_set
    rules = context.runtime.write_rules
    ieee754 = require_json(request.headers)
    content = await request.read_body()
    if_match = context.tags(b"if-match")
    if_none_match = _if_none_match(context)
    must_not_exist = if_none_match is not None and if_none_match.any
    if if_match is None and not must_not_exist:
        within = tag_within(content) if rules.body_tag else None
        if_match = within or _if_match(context, "Updating")
    repeat = _repeat(context, content)
    sent = parse_object(content)
    if if_match is not None and must_not_exist:
        raise rows.CONTRADICTING_TAGS("If-None-Match")
    if if_match is None:
        key = await context.key()
        # the key in the path replaces the one in the body
        sent.pop(entity_set.type.key, None)
        return plans.CreatePlan(
            entity_set=entity_set,
            company=context.required_company(),
            body=_binder(context, entity_set, sent, ieee754=ieee754).create(key),
            by=request.principal.subject,
            must_not_exist=True,
            repeat=repeat,
        )
    replaces = request.method == "PUT" and rules.put_replaces
    body = _binder(context, entity_set, sent, ieee754=ieee754).update(replaces=replaces)
    return _update(context, body, if_match, if_none_match, repeat, replaces=replaces)


async def _replace_stream(context: Context) -> plans.WritePlan:
    """Plan the update of a stream to the bytes of the body (OData Protocol 4.01, 11.4.8)."""
    content = await context.request.read_body()
    guards = _if_match(context, "Updating"), _if_none_match(context)
    name, stream = context.stream()
    stored: list[str] = []
    for each in stream.from_bytes(content):
        stored.append(each)
        await asyncio.sleep(0)
    body = plans.Body({name: "".join(stored)}, None)
    return _update(context, body, *guards, _repeat(context, content))


async def _act(context: Context, action: Action) -> plans.WritePlan:
    """Plan what an action changes, which a client need not have read before.

    It has no parameters, so a body has no effect (OData Protocol 4.01, section 11.5.5).
    """
    if not action.change:
        raise rows.ACTION_WITHOUT_EFFECT(name=action.name, set=context.entity_set.name)
    content = await context.request.read_body()
    if content:
        require_json(context.request.headers)
        parse_object(content)
    if_match = context.tags(b"if-match") or ANY_TAG
    guards = if_match, _if_none_match(context)
    body = plans.Body(action.change, None)
    return _update(context, body, *guards, _repeat(context, content))


def _update(
    context: Context,
    body: plans.Body,
    if_match: EntityTags,
    if_none_match: EntityTags | None,
    repeat: plans.Repeat | None,
    *,
    replaces: bool = False,
) -> plans.UpdatePlan:
    return plans.UpdatePlan(
        entity_set=context.entity_set,
        segment=context.target.segment,
        company=context.required_company(),
        address=context.address,
        body=body,
        if_match=if_match,
        by=context.request.principal.subject,
        if_none_match=if_none_match,
        replaces=replaces,
        hides=not may_read(context.entity_set, context.readable),
        repeat=repeat,
    )


async def _delete(context: Context) -> plans.WritePlan:
    return plans.DeletePlan(
        entity_set=context.entity_set,
        segment=context.target.segment,
        company=context.required_company(),
        address=context.address,
        if_match=_if_match(context, "Deleting"),
        by=context.request.principal.subject,
        if_none_match=_if_none_match(context),
        repeat=_repeat(context, b""),
    )


def _if_none_match(context: Context) -> EntityTags | None:
    """The tags of If-None-Match, None also where writes ignore it."""
    if not context.runtime.write_rules.if_none_match:
        return None
    return context.tags(b"if-none-match")


def _if_match(context: Context, action: str) -> EntityTags:
    """The tags of If-Match; raises `Refusal` (428) without one where a write requires it."""
    tags = context.tags(b"if-match")
    if tags is not None:
        return tags
    is_required = context.runtime.write_rules.tags[context.request.method] == "required"
    if is_required and context.entity_set.if_match:
        raise rows.UNTAGGED("If-Match", action=action, what="record")
    return ANY_TAG


def _repeat(context: Context, content: bytes) -> plans.Repeat | None:
    """The identity of a repeatable write with this body; None for other writes.

    Raises `Refusal`: 400 for invalid headers, 412 for a request that was first sent before the
    window, or in the future.
    """
    request = context.request
    sent = repeatability(request.headers)
    if sent is None:
        return None
    now = datetime.now(UTC)
    window = timedelta(seconds=context.runtime.settings.repeatability_seconds)
    if not now - window <= sent.first_sent <= now + _SKEW:
        now_text, seconds = format_datetime(now, usegmt=True), window.total_seconds()
        raise rows.REPEAT_TOO_LATE(FIRST_SENT, seconds=seconds, now=now_text)
    digest = sha256()
    headers = [request.headers.get(name, b"") for name in _DIGESTED]
    address = f"{request.method} {request.path}?{request.query}".encode()
    for part in (address, *headers, content):
        digest.update(b"%d:" % len(part) + part)
    return plans.Repeat(
        sent.request_id,
        sent.client_id,
        digest.hexdigest(),
        instant(now),
        instant(now - window - _SKEW),
    )


_PLANNERS: Mapping[str, Callable[[Context], Awaitable[plans.WritePlan]]] = {
    "POST": _create,
    "PATCH": _change,
    "PUT": _change,
    "DELETE": _delete,
}


def _repeatable_key(context: Context, repeat: plans.Repeat) -> str:
    """The key of a record that a repeatable write creates: each repeat generates the same one.

    Later requests of an atomic group may contain the key, and must be equal when repeated.
    """
    name = "\n".join((context.request.principal.subject, repeat.client_id, repeat.request_id))
    return str(uuid5(UUID(context.required_company().id), name))


@dataclass(eq=False)
class GroupRefusedError(Exception):
    """The refusal of an atomic group, of which nothing was stored.

    `index` is the number of the refused request, from 0, and `undone` has the responses to those
    before it, as if their writes had been stored; there may be fewer.
    """

    index: int
    refusal: Refusal
    undone: Sequence[Response] = ()


class AtomicGroup(msgspec.Struct):
    """Writes to one company that succeed or fail together (OData Protocol 4.01, 11.7).

    `add` plans each of them, and `commit` runs them in that order as one unit of work. `planner`
    locates and plans a request.
    """

    store: Store
    planner: Callable[[Request], Awaitable[tuple[Context, plans.WritePlan]]]
    planned: list[tuple[Context, plans.WritePlan]] = []

    async def add(self, request: Request) -> str | None:
        """Plan a write, with all checks that need no record.

        Returns the path of the record, in the form of `Request.path`, so that later requests can
        refer to it. A record to be created already has its key. None if the record has no key yet,
        or if only `commit` can find the record.

        Raises `Refusal`, also (400) for a request that does not write, or is for another company
        than the previous ones.
        """
        if request.method in READ_METHODS:
            raise rows.METHOD_IN_GROUP(method=request.method)
        context, plan = await self.planner(request)
        if self.planned and self.planned[0][1].company != plan.company:
            raise rows.GROUP_OF_COMPANIES()
        self._check_repeat(plan.repeat)
        self.planned.append((context, plan))
        if plan.key is None:
            return None
        return context.records.path(plan.company, plan.key)

    def _check_repeat(self, repeat: plans.Repeat | None) -> None:
        """Raise `Refusal` (400) unless the whole group can be repeated."""
        others = [plan.repeat for _, plan in self.planned]
        if others and (repeat is None) != (others[0] is None):
            raise rows.GROUP_PARTLY_REPEATABLE(REQUEST_ID)
        if repeat is not None and any(
            other is not None
            and (other.request_id, other.client_id) == (repeat.request_id, repeat.client_id)
            for other in others
        ):
            raise rows.GROUP_REPEATS_ID(REQUEST_ID)

    async def commit(self, refused: Refusal | None = None) -> list[Response]:
        """Run the writes in one transaction, each of which sees the previous ones.

        `refused` is the refusal of the request after them. Raises `GroupRefusedError` if that or
        one of them is refused, and `Refusal` (429, 503) if none can run. In both cases nothing
        changes.
        """
        if not self.planned:
            if refused is not None:
                raise GroupRefusedError(0, refused)
            return []
        try:
            written = await self.store.write_all([plan for _, plan in self.planned], refused)
        except GroupRefusal as error:
            undone = await self._responses(error.undone)
            raise GroupRefusedError(error.index, error.refusal, undone) from None
        return await self._responses(written)

    async def _responses(self, written: Sequence[Written]) -> list[Response]:
        return [
            await _respond(context, plan, each)
            for (context, plan), each in zip(self.planned, written, strict=False)
        ]
