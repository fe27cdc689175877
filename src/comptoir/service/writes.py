"""Writing records: each write is one unit of work."""

from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from hashlib import sha256
from uuid import UUID, uuid5

from comptoir.auth import Scope, require
from comptoir.edm.times import instant
from comptoir.errors import (
    ENTITY_CHANGED,
    NOT_IMPLEMENTED,
    PRECONDITION_REQUIRED,
    REPEAT_UNTRACKED,
    Refusal,
)
from comptoir.plan.write import (
    CreatePlan,
    DeletePlan,
    Repeat,
    UpdatePlan,
    WritePlan,
    bind_create,
    bind_replace,
    bind_update,
)
from comptoir.request.access import TOKEN
from comptoir.request.headers import EntityTags, Headers, entity_tags, names_protocol
from comptoir.request.media import require_json
from comptoir.request.options import NO_OPTIONS
from comptoir.request.payload import parse_object, tag_within
from comptoir.request.preferences import MINIMAL, preferences
from comptoir.request.repeatability import FIRST_SENT, RESULT, rejected, repeatability
from comptoir.response.records import opaque_tag
from comptoir.response.response import Header, Response
from comptoir.service.context import VIEWING, Context, Runtime, allow_options, refuse_options
from comptoir.service.places import key_of, sought_by
from comptoir.service.views import Views
from comptoir.store.change import Written

_NAMES = {"POST": "a create", "PATCH": "an update", "PUT": "an update", "DELETE": "a delete"}

WRITING = tuple(_NAMES)
"""The methods that write."""

Planner = Callable[[Context], Awaitable[WritePlan]]


SKEW = timedelta(minutes=5)
"""By how much a client's clock may be fast."""

_MEANT = (b"if-match", b"if-none-match")
"""The headers that take part in the meaning of a write."""


class Repeats:
    """Reads the headers of repeatable writes: a write is recognized for the time of a window."""

    def __init__(self, window_seconds: float) -> None:
        self._window = timedelta(seconds=window_seconds)

    def of(self, context: Context, content: bytes) -> Repeat | None:
        """The ids and the digest of a write with this body; None for one that is not repeatable.

        Raises `Refusal`: 400 for invalid headers, 412 for a request that was first sent before the
        window, or in the future.
        """
        request = context.request
        sent = repeatability(request.headers)
        if sent is None:
            return None
        now = datetime.now(UTC)
        if not now - self._window <= sent.first_sent <= now + SKEW:
            raise rejected(
                REPEAT_UNTRACKED,
                f"{FIRST_SENT} must lie within the last {self._window.total_seconds():g} seconds; "
                f"now it is {format_datetime(now, usegmt=True)}. Find out whether the request "
                "was done, and send it as a new one if not.",
                FIRST_SENT,
            )
        digest = sha256()
        headers = [request.headers.get(name, b"") for name in _MEANT]
        address = f"{request.method} {request.path}?{request.query}".encode()
        for part in (address, *headers, content):
            digest.update(b"%d:" % len(part) + part)
        return Repeat(
            sent.request_id,
            sent.client_id,
            digest.hexdigest(),
            instant(now),
            instant(now - self._window - SKEW),
        )


class Writes:
    """The verbs that write a record: a request becomes a plan, and what was written an answer."""

    def __init__(self, runtime: Runtime) -> None:
        self._store = runtime.store
        self._views = Views(runtime)
        self._base_url = runtime.base_url
        self._repeats = Repeats(runtime.settings.repeatability_seconds)
        self._planners: Mapping[str, Planner] = {
            "POST": self._create,
            "PATCH": self._change,
            "PUT": self._change,
            "DELETE": self._delete,
        }

    async def write(self, context: Context) -> Response:
        """Create, update, replace or delete a record, as the method says."""
        plan = await self.plan(context)
        return self.answer(context, plan, await self._store.write(plan))

    async def plan(self, context: Context) -> WritePlan:
        """What a request asks to be written; raises `Refusal` for all that needs no record."""
        require(context.request.principal, Scope.RECORDS_WRITE)
        if context.options is not NO_OPTIONS:
            self._shape(context)
        return await self._planners[context.request.method](context)

    def _shape(self, context: Context) -> None:
        """Apply `$select` to the record in the answer (OData Protocol 4.01, section 11.4)."""
        options = context.options
        what = _NAMES[context.request.method]
        if context.request.method == "DELETE":
            refuse_options(options, what)
        if options.expand is not None:
            raise Refusal(
                NOT_IMPLEMENTED,
                f"$expand is not supported in {what}. Read the record with it afterwards.",
                target="$expand",
            )
        allow_options(options, VIEWING, what)
        context.records = self._views.of(context).records

    def answer(self, context: Context, plan: WritePlan, written: Written) -> Response:
        """The answer to a request that was planned and done.

        The whole record, or with `Prefer: return=minimal` nothing but where it is and its tag.
        Where a path found its record by other means than the key, which the write may have
        changed, the answer says where it is as well. Every answer carries the token with which a
        read sees the write.
        """
        extra = [(_TOKEN, opaque_tag(written.company, written.number).encode())]
        if plan.repeat is not None:
            extra.append(_ACCEPTED)
        if isinstance(plan, DeletePlan):
            return Response(204, [_VERSION, *extra])
        records, company, row = context.records, written.company, written.row
        wishes = preferences(context.request.headers)
        tells_all = wishes.returns != MINIMAL
        headers = context.headers() if tells_all else [_VERSION]
        headers.append((b"etag", records.tag(company, row).encode()))
        headers += extra
        if wishes.returns is not None:
            headers.append((b"preference-applied", wishes.applied(returns=True)))
        creates = isinstance(plan, CreatePlan)
        was_sought = plan.key is None
        if creates or was_sought or not tells_all:
            link = records.link(self._base_url, company, row).encode()
            if creates:
                headers.append((b"location", link))
            if was_sought or not tells_all:
                headers.append((b"odata-entityid", link))
            if not tells_all:
                return Response(204, headers)
        body = records.record(self._base_url, company, row)
        return Response(201 if creates else 200, headers, body)

    async def _create(self, context: Context) -> WritePlan:
        request, entity_set = context.request, context.entity_set
        ieee754 = require_json(request.headers)
        content = await request.read_body()
        guard = entity_tags(request.headers, b"if-match") if entity_set.create_guarded else None
        must_not_exist = _excludes_any(_if_none_match(request.headers))
        unguarded = guard is None and not must_not_exist
        if entity_set.create_guarded and unguarded and not names_protocol(request.headers):
            raise _precondition_required(
                f"Creating in {entity_set.name} needs If-Match; send the tag of the record with "
                "that key if there is one, * otherwise, or If-None-Match: *."
            )
        repeat = self._repeats.of(context, content)
        spare = None if repeat is None else repeatable_key(context, repeat)
        body = parse_object(content)
        values = bind_create(entity_set.type, body, spare_key=spare, ieee754=ieee754)
        by, company = request.principal.subject, context.under()
        return CreatePlan(entity_set, company, values, by, guard, must_not_exist, repeat)

    async def _change(self, context: Context) -> WritePlan:
        """An update or a replacement; with If-None-Match: * a create under the key in the path.

        Without a header that says which record is meant, the tag in the body does.
        """
        request, entity_set = context.request, context.entity_set
        ieee754 = require_json(request.headers)
        content = await request.read_body()
        if_match = entity_tags(request.headers, b"if-match")
        if_none_match = _if_none_match(request.headers)
        must_not_exist = _excludes_any(if_none_match)
        if if_match is None and not must_not_exist:
            if_match = tag_within(content)
            if if_match is None:
                raise _precondition_required("Updating a record needs If-Match" + _ITS_TAG)
        repeat = self._repeats.of(context, content)
        body = parse_object(content)
        if if_match is not None and must_not_exist:
            raise Refusal(
                ENTITY_CHANGED,
                "If-Match asks for a record and If-None-Match: * for none. Send one of them.",
                target="If-None-Match",
            )
        by, company = request.principal.subject, context.under()
        if if_match is None:
            key = await key_of(context)
            # another key in the body is ignored
            body.pop(entity_set.type.key, None)
            values = bind_create(entity_set.type, body, key, ieee754=ieee754)
            return CreatePlan(entity_set, company, values, by, must_not_exist=True, repeat=repeat)
        replaces = request.method == "PUT"
        values = (bind_replace if replaces else bind_update)(entity_set.type, body, ieee754=ieee754)
        return UpdatePlan(
            entity_set,
            company,
            sought_by(context),
            values,
            if_match,
            by,
            if_none_match,
            replaces,
            repeat,
        )

    async def _delete(self, context: Context) -> WritePlan:
        request = context.request
        if_match = entity_tags(request.headers, b"if-match")
        if_none_match = _if_none_match(request.headers)
        if if_match is None:
            raise _precondition_required("Deleting a record needs If-Match" + _ITS_TAG)
        repeat = self._repeats.of(context, b"")
        by, company, sought = request.principal.subject, context.under(), sought_by(context)
        return DeletePlan(context.entity_set, company, sought, if_match, by, if_none_match, repeat)


_TOKEN = TOKEN.lower().encode()
_ACCEPTED: Header = (RESULT.lower().encode(), b"accepted")
_VERSION: Header = (b"odata-version", b"4.0")
_ITS_TAG = " with the record's @odata.etag, or * for any. Read the record to get its tag."


def _if_none_match(headers: Headers) -> EntityTags | None:
    return entity_tags(headers, b"if-none-match")


def _excludes_any(if_none_match: EntityTags | None) -> bool:
    return if_none_match is not None and if_none_match.any


def _precondition_required(message: str) -> Refusal:
    return Refusal(PRECONDITION_REQUIRED, message, target="If-Match")


def repeatable_key(context: Context, repeat: Repeat) -> str:
    """The key of a record that a repeatable write creates: the same for each repeat.

    So the requests of an atomic group that go to the new record are the same as well.
    """
    name = "\n".join((context.request.principal.subject, repeat.client_id, repeat.request_id))
    return str(uuid5(UUID(context.under().id), name))
