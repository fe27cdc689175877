"""The verbs: read, list, create, update. Each is request, plan, store, response, in that order."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

import msgspec

from comptoir.auth import Principal, Scope, require
from comptoir.config import Settings
from comptoir.edm.model import EntitySet, Model
from comptoir.edm.primitive import Stored
from comptoir.edm.scalar import NO_GUID
from comptoir.errors import (
    COMPANY_NOT_FOUND,
    ENTITY_CHANGED,
    INVALID_URL,
    METHOD_NOT_ALLOWED,
    PRECONDITION_REQUIRED,
    Refusal,
)
from comptoir.plan.pages import Page, bind_page
from comptoir.plan.read import RecordPlan, Row
from comptoir.plan.target import Company, Target, company_of, resolve
from comptoir.plan.write import CreatePlan, UpdatePlan, WritePlan, bind_create, bind_update
from comptoir.request.expression import ExpressionLimits
from comptoir.request.headers import (
    Headers,
    entity_tags,
    max_page_size,
    metadata_level,
    names_protocol,
    require_json,
)
from comptoir.request.options import NO_OPTIONS, QueryOptions, continued, parse_options
from comptoir.request.path import parse_path
from comptoir.request.payload import parse_object
from comptoir.response.answer import Answer, Header
from comptoir.response.collections import CollectionWriter
from comptoir.response.records import RecordWriter
from comptoir.store.protocol import Patience, Store
from comptoir.store.unit import no_record


class Request(msgspec.Struct):
    """A request on the interface: `path` and `query` are percent-encoded, the path without base.

    `read_body` reads the body, within the limit, when an operation gets to it; `patience` awaits
    long reads while the client does.
    """

    method: str
    path: str
    query: str
    headers: Headers
    principal: Principal
    read_body: Callable[[], Awaitable[bytes]]
    patience: Patience


class Context(msgspec.Struct):
    """A request with what its path turned out to mean."""

    request: Request
    target: Target
    company: Company | None
    records: RecordWriter

    @property
    def entity_set(self) -> EntitySet:
        """The set that the path names."""
        return self.target.entity_set


class Service:
    """Answers requests on the records of a model, which a store holds."""

    def __init__(self, model: Model, store: Store, settings: Settings) -> None:
        self._model = model
        self._store = store
        self._settings = settings
        self._base_url = settings.base_url
        self._limits = ExpressionLimits(
            nodes=settings.expression_nodes,
            depth=settings.expression_depth,
            in_list=settings.expression_list,
        )
        self._writers: dict[tuple[EntitySet, str], RecordWriter] = {}

    async def handle(self, request: Request) -> Answer:
        """Answer a request; raises `Refusal` for one that is not answered with success.

        The checks come in this order: path, company, resource, method, Accept, scope, options,
        media type, size, precondition, body, record, tag, values, uniqueness.
        """
        segments = parse_path(request.path)
        company_id = company_of(segments)
        company = None if company_id is None else await self._company(request, company_id)
        target = resolve(self._model, segments, company_id)
        verb = self._verb(request.method, target)
        level = metadata_level(request.headers)
        writer = self._writers.get((target.entity_set, level))
        if writer is None:
            writer = RecordWriter(target.entity_set, level)
            self._writers[target.entity_set, level] = writer
        if not target.entity_set.per_company:
            company = None
        return await verb(Context(request, target, company, writer))

    async def _company(self, request: Request, company_id: str) -> Company:
        company = None
        if request.principal.reaches(company_id):
            company = await self._store.company(company_id)
        if company is None:
            raise Refusal(
                COMPANY_NOT_FOUND,
                f"There is no company {company_id}. GET {self._base_url}/companies lists those "
                "that the token reaches.",
            )
        return company

    def _verb(self, method: str, target: Target) -> Callable[[Context], Awaitable[Answer]]:
        writable = not target.entity_set.read_only
        verbs: dict[str, Callable[[Context], Awaitable[Answer]]]
        if target.key is None:
            verbs = {"GET": self._list}
            if writable:
                verbs["POST"] = self._create
        else:
            verbs = {"GET": self._narrowed if target.entity_set.key_narrows else self._read}
            if writable:
                verbs["PATCH"] = self._update
        verb = verbs.get("GET" if method == "HEAD" else method)
        if verb is None:
            allowed = ", ".join(["HEAD", *verbs] if "GET" in verbs else verbs)
            raise Refusal(
                METHOD_NOT_ALLOWED,
                f"{target.entity_set.name} does not have {method[:20]} here. It has: {allowed}.",
                headers={"Allow": allowed},
            )
        return verb

    async def _read(self, context: Context) -> Answer:
        request = context.request
        require(request.principal, Scope.RECORDS_READ)
        _refuse_options(parse_options(request.query), "a single record")
        unchanged = entity_tags(request.headers, b"if-none-match")
        row = await self._record(context)
        if unchanged is not None and unchanged.hold(context.records.opaque(context.company, row)):
            tag = context.records.tag(context.company, row).encode()
            return Answer(304, [(b"odata-version", b"4.0"), (b"etag", tag)])
        return self._entity(context, 200, row)

    async def _narrowed(self, context: Context) -> Answer:
        """Operation 9 at a key: the collection, narrowed to one record unless the key is zero."""
        if names_protocol(context.request.headers):
            return await self._read(context)
        require(context.request.principal, Scope.RECORDS_READ)
        if context.target.key == NO_GUID:
            return await self._page(context, None)
        row = await self._record(context)
        return await self._page(context, (context.records.key(row),))

    async def _list(self, context: Context) -> Answer:
        require(context.request.principal, Scope.RECORDS_READ)
        reached = context.request.principal.companies
        if context.entity_set.per_company or reached is None:
            return await self._page(context, None)
        return await self._page(context, tuple(sorted(reached)))

    async def _page(self, context: Context, keys: tuple[Stored, ...] | None) -> Answer:
        request = context.request
        options = parse_options(request.query)
        wanted = max_page_size(request.headers)
        page_size = min(wanted or self._settings.page_size, self._settings.max_page_size)
        page = bind_page(
            context.entity_set,
            context.company,
            options,
            keys=keys,
            page_size=page_size,
            limits=self._limits,
        )
        count = None
        if page.count is not None:
            count = await self._store.count(page.count, request.patience)
        slices = self._store.page(page.plan, request.patience)
        first: list[Row] = await anext(slices, [])
        second = await anext(slices, None)
        writer = CollectionWriter(context.records, self._base_url, context.company)
        inline = None
        if (
            context.entity_set.single_inline
            and len(first) == 1
            and set(options.given) <= {"$filter"}
            and not names_protocol(request.headers)
        ):
            inline = first[0]
        headers = self._headers(context)
        if wanted:
            headers.append((b"preference-applied", b"odata.maxpagesize=%d" % page_size))
        head = writer.head(count, inline)
        following = _Following(self._base_url, request, page)
        if second is None:
            shown = following.shown(first)
            tail = writer.tail(following.link)
            return Answer(200, headers, b"".join([head, writer.slice(shown), tail]))
        return Answer(200, headers, _written(head, writer, following, (first, second), slices))

    async def _create(self, context: Context) -> Answer:
        request, entity_set = context.request, context.entity_set
        require(request.principal, Scope.RECORDS_WRITE)
        _refuse_options(parse_options(request.query), "a create")
        require_json(request.headers)
        content = await request.read_body()
        guard = entity_tags(request.headers, b"if-match") if entity_set.create_guarded else None
        none_match = entity_tags(request.headers, b"if-none-match")
        must_not_exist = none_match is not None and none_match.any
        unguarded = guard is None and not must_not_exist
        if entity_set.create_guarded and unguarded and not names_protocol(request.headers):
            raise _precondition_required(
                f"Creating in {entity_set.name} needs If-Match; send the tag of the record with "
                "that key if there is one, * otherwise, or If-None-Match: *."
            )
        values = bind_create(entity_set.type, parse_object(content))
        return await self._write(
            context,
            CreatePlan(
                entity_set,
                _under(context),
                values,
                request.principal.subject,
                guard,
                must_not_exist,
            ),
        )

    async def _update(self, context: Context) -> Answer:
        request, entity_set, key = context.request, context.entity_set, context.target.key
        require(request.principal, Scope.RECORDS_WRITE)
        _refuse_options(parse_options(request.query), "an update")
        require_json(request.headers)
        content = await request.read_body()
        if_match = entity_tags(request.headers, b"if-match")
        none_match = entity_tags(request.headers, b"if-none-match")
        must_not_exist = none_match is not None and none_match.any
        if key is None or (if_match is None and not must_not_exist):
            raise _precondition_required(
                "Updating a record needs If-Match with the record's @odata.etag, or * for any. "
                "Read the record to get its tag."
            )
        body = parse_object(content)
        if if_match is not None and must_not_exist:
            raise Refusal(
                ENTITY_CHANGED,
                "If-Match asks for a record and If-None-Match: * for none. Send one of them.",
                target="If-None-Match",
            )
        by, company = request.principal.subject, _under(context)
        if if_match is not None:
            values = bind_update(entity_set.type, body)
            return await self._write(
                context, UpdatePlan(entity_set, company, key, values, if_match, by, none_match)
            )
        # If-None-Match: * makes the record of this key, and another key in the body is ignored
        body.pop(entity_set.type.key, None)
        values = bind_create(entity_set.type, body, key)
        return await self._write(
            context, CreatePlan(entity_set, company, values, by, must_not_exist=True)
        )

    async def _write(self, context: Context, plan: WritePlan) -> Answer:
        written = await self._store.write(plan)
        if isinstance(plan, UpdatePlan):
            return self._entity(context, 200, written.row)
        answer = self._entity(context, 201, written.row)
        link = context.records.link(self._base_url, context.company, written.row)
        answer.headers.append((b"location", link.encode()))
        return answer

    async def _record(self, context: Context) -> Row:
        key = context.target.key
        row = None
        if key is not None:
            plan = RecordPlan(context.entity_set, context.company, key)
            row = await self._store.record(plan, context.request.patience)
        if row is None:
            raise no_record(context.entity_set, key or "")
        return row

    def _entity(self, context: Context, status: int, row: Row) -> Answer:
        records, company = context.records, context.company
        headers = self._headers(context)
        headers.append((b"etag", records.tag(company, row).encode()))
        return Answer(status, headers, records.record(self._base_url, company, row))

    def _headers(self, context: Context) -> list[Header]:
        return [(b"content-type", context.records.media_type), (b"odata-version", b"4.0")]


def _under(context: Context) -> Company:
    if context.company is None:
        raise LookupError(f"{context.entity_set.name} is written under no company")
    return context.company


def _precondition_required(message: str) -> Refusal:
    return Refusal(PRECONDITION_REQUIRED, message, target="If-Match")


def _refuse_options(options: QueryOptions, what: str) -> None:
    if options is NO_OPTIONS:
        return
    for name in options.given:
        raise Refusal(
            INVALID_URL,
            f"{name} applies to a collection, not to {what}. Leave it out.",
            target=name,
        )


class _Following:
    """Cuts the records of a page at its size, and tells the link to the page that follows."""

    def __init__(self, base_url: str, request: Request, page: Page) -> None:
        self.link: str | None = None
        self._base_url = base_url
        self._request = request
        self._page = page
        self._shown = 0
        self._end: Row | None = None

    def shown(self, rows: list[Row]) -> list[Row]:
        """Those of some records that stand on the page; the others show that a page follows."""
        shown = rows[: self._page.size - self._shown]
        if shown:
            self._shown += len(shown)
            self._end = shown[-1]
        if len(rows) > len(shown):
            self.end_here()
        return shown

    def end_here(self) -> None:
        """Let the next page follow the records that were shown."""
        if self._end is not None:
            token = self._page.token_behind(self._end, self._shown)
            query = continued(self._request.query, token)
            self.link = f"{self._base_url}{self._request.path}?{query}"


async def _written(
    head: bytes,
    writer: CollectionWriter,
    following: _Following,
    ready: Sequence[list[Row]],
    slices: AsyncIterator[list[Row]],
) -> AsyncIterator[bytes]:
    """A page as it is written: its head, the slices that are ready, those to come, its tail."""
    yield head
    for rows in ready:
        yield writer.slice(following.shown(rows))
    try:
        async for rows in slices:
            yield writer.slice(following.shown(rows))
    except Refusal:
        # the status has gone out: a page may be short, and who follows its link is told why
        following.end_here()
    yield writer.tail(following.link)
