"""The input of the verbs: the request with the target of its path, and the runtime."""

import re
from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing
from functools import lru_cache, partial
from typing import Protocol

import msgspec

from comptoir.auth.limits import Account
from comptoir.auth.roles import Principal, Right
from comptoir.config import Settings
from comptoir.edm.model import Company, EntitySet, Model
from comptoir.edm.types import Stored, Stream
from comptoir.errors import refusal_rows
from comptoir.plan.expressions.operands import BindingContext
from comptoir.plan.read import Computed, PagePlan, RecordPlan, Row, Within
from comptoir.plan.target import Readable, RecordAddress, RecordPath, Target, record_not_found
from comptoir.request.expression.parser import ExpressionLimits
from comptoir.request.fields import ExpandLimits
from comptoir.request.headers import INTENT, TOKEN, Access, EntityTags, Format, Headers, Preferences
from comptoir.request.options import QueryOptions
from comptoir.request.path import READ_METHODS
from comptoir.response.records import WHOLE, RecordShape, RecordWriter
from comptoir.response.response import ODATA_VERSION, Header, Response, Root
from comptoir.store.store import Reads, Slices, Store
from comptoir.store.unit import drive


class Request(msgspec.Struct):
    """A request to the API.

    `path` and `query` are percent-encoded, and the path is that after `root`. `read_body` reads the
    body up to its limit.
    `access` is None without its headers. `reads` are those of an earlier state of the company, if
    the request is to see that.
    """

    method: str
    root: Root
    path: str
    query: str
    headers: Headers
    principal: Principal
    read_body: Callable[[], Awaitable[bytes]]
    access: Access | None = None
    reads: Reads | None = None


class Mounted(Protocol):
    """A resource that is not of the model; `paths` matches its paths after the service root."""

    paths: re.Pattern[str]

    async def handle(self, request: Request) -> Response:
        """Answer a request; raises `Refusal` unless the request succeeds."""


class Runtime:
    """The model, the store of its records, and the settings: the same for all requests.

    `renamed` is the model for requests that want enumerations in the other form.
    """

    def __init__(
        self, model: Model, store: Store, settings: Settings, renamed: Model | None = None
    ) -> None:
        self.model = model
        self.store = store
        self.settings = settings
        self.limits = ExpressionLimits(
            nodes=settings.expression_nodes,
            depth=settings.expression_depth,
            in_list=settings.expression_list,
        )
        self.behaviour = settings.behaviour
        """The rules of the profile, which the settings build at each reading."""
        self.write_rules = self.behaviour.writes
        queries = self.behaviour.queries
        self.links_by_record = queries.next_link == "last record"
        self.models: Mapping[str | None, Model] = {
            version: renamed if renamed is not None and version in queries.renamed else model
            for version in queries.dialects
        }
        """The model of requests by their `$schemaversion`."""
        self.expand_limits = ExpandLimits(
            settings.expand_items, settings.expand_depth, queries.unsupported
        )
        self.plain_bindings = {
            version: {
                each: BindingContext(self.models[version], each, self.limits, dialect=dialect)
                for each in self.models[version].sets
            }
            for version, dialect in queries.dialects.items()
        }
        """The binding contexts without aliases, computed properties and roles."""

    def reads(self, method: str, access: Access, company: Company | None) -> Reads:
        """The store for the reads of a request with `access`: a replica if that allows one.

        A replica's lag is measured by a company's change numbers, so it serves only reads of one
        company. Raises `Refusal` (400) for a write that claims to read only, and for a consistency
        token of another company or incarnation.
        """
        reads = method in READ_METHODS
        if access.intent == "readonly" and not reads:
            raise refusal_rows.READ_ONLY_INTENT(INTENT, method=method)
        if company is None:
            return self.store
        seen = access.seen
        if seen is not None and seen.incarnation != company.incarnation:
            raise refusal_rows.OTHER_TOKEN(TOKEN)
        if not (reads and access.may_lag):
            return self.store
        return self.store.replicated(company, 0 if seen is None else seen.number)


@lru_cache(1_000)
def record_writer(
    root: Root,
    entity_set: EntitySet,
    form: Format,
    shape: RecordShape = WHOLE,
    *,
    narrowed: bool = False,
) -> RecordWriter:
    """The writer of a set's records in a format and a shape."""
    return RecordWriter(root, entity_set, form, shape, narrowed=narrowed)


class Context(msgspec.Struct):
    """A request with the target of its path, its query options, and the store for its reads.

    `entity_set` is that of the target.
    """

    runtime: Runtime
    request: Request
    target: Target
    entity_set: EntitySet
    company: Company | None
    options: QueryOptions
    preferences: Preferences
    records: RecordWriter
    reads: Reads

    @property
    def readable(self) -> Readable:
        """The sets whose records the principal's roles allow to read."""
        rights = self.request.principal.rights
        return None if rights is None else rights[Right.READ]

    def binding(self, computed: Computed = ()) -> BindingContext:
        """The binding context of expressions over the records that the path names."""
        plain = self.runtime.plain_bindings[self.options.schemaversion][self.entity_set]
        aliases, readable = self.options.aliases, self.readable
        if not (aliases or computed) and readable is None:
            return plain
        return msgspec.structs.replace(plain, computed=computed, aliases=aliases, readable=readable)

    @property
    def address(self) -> RecordAddress:
        """The key of the record that the path names, or the path that leads to it."""
        target = self.target
        if target.key is not None and not target.steps:
            return target.key
        return RecordPath(target, self.company)

    def tags(self, name: bytes) -> EntityTags | None:
        """The tags of `If-Match` or `If-None-Match`, by its name in lower case.

        None if it is not sent. Raises `Refusal` (400) for a malformed header.
        """
        headers = self.request.headers
        return self.records.tags(headers, name) if name in headers else None

    def required_company(self) -> Company:
        """The company of the path; raises `LookupError` if there is none."""
        if self.company is None:
            raise LookupError(f"{self.entity_set.name} without a company")
        return self.company

    def stream(self) -> tuple[str, Stream]:
        """The name and the type of the stream in the path; raises `LookupError` without one."""
        declared = self.target.property
        if declared is None or not isinstance(declared.type, Stream):
            raise LookupError(f"{self.target.resource} without a stream")
        return declared.name, declared.type

    def headers(self) -> list[Header]:
        """The headers of a response with records."""
        return [(b"content-type", self.records.media_type), ODATA_VERSION]

    def etag(self, company: Company | None, version: str | int) -> Header:
        """The header with the ETag of a record's version."""
        return (b"etag", self.records.tag(company, version).encode())

    def page(self, plan: PagePlan) -> Slices:
        """The rows of a page, which count as read."""
        slices = self.reads.page(plan)
        account = self.request.principal.account
        return slices if account is None else _counted(slices, account)

    def spend(self, records: int) -> None:
        """Count records as read."""
        account = self.request.principal.account
        if account is not None:
            account.spend(records)

    async def row(self, computed: Computed = ()) -> Row | None:
        """The record that the path names, with the computed values after its properties.

        None if a navigation property leads to no record. Raises `Refusal` (404) if the path
        contains a key that no record has.
        """
        address = self.address
        if computed or isinstance(address, RecordPath):
            path = RecordPath(self.target, self.company)
            return await drive(path.lookup(computed), self.rows)
        company_id = self.company.id if self.company else ""
        plan = RecordPlan(self.entity_set, company_id, address)
        row = await self.reads.record(plan)
        if row is None:
            raise record_not_found(self.entity_set, address, self.target.segment)
        return row

    async def key(self) -> Stored:
        """The key of the record that the path names; raises `Refusal` (404) if there is none."""
        address = self.address
        if isinstance(address, RecordPath):
            return self.records.key(await drive(address.record(), self.rows))
        return address

    async def within(self) -> Within | None:
        """The values of the records to which the navigation of the path leads.

        None if it leads to no records. Raises `Refusal` (404) as `row` does.
        """
        return await drive(RecordPath(self.target, self.company).within(), self.rows)

    async def rows(self, plan: PagePlan) -> list[Row]:
        """The rows of a page, which do not count as read."""
        return [row async for rows in self.reads.page(plan) for row in rows]


async def _counted(slices: Slices, account: Account) -> Slices:
    async with aclosing(slices):
        async for rows in slices:
            account.spend(len(rows))
            yield rows


Respond = Callable[[], Awaitable[Response]]
"""The last stage of a request: makes the response."""

Run = Callable[[], Awaitable[Respond]]
"""A bound request: reads or writes the store, and returns what makes the response."""

Verb = Callable[[Context], Awaitable[Run]]
"""Binds a request whose path and method are valid; raises `Refusal`, as the stages after it do."""


def without_store(respond: Callable[[Context], Awaitable[Response]]) -> Verb:
    """The verb of a response that needs no store."""

    async def run(context: Context) -> Respond:
        return partial(respond, context)

    async def bind(context: Context) -> Run:
        return partial(run, context)

    return bind


FORMAT_OPTIONS = frozenset({"$format"})
"""The query options of the service documents, a property and a reference."""

COUNT_OPTIONS = frozenset(
    {"$apply", "$expand", "$filter", "$orderby", "$search", "$select", "$skip", "$top"}
)
"""The query options of a count, which depends on `$apply`, `$filter` and `$search` alone."""

COLLECTION_OPTIONS = COUNT_OPTIONS | {"$compute", "$count", "$deltatoken", "$format", "$skiptoken"}
"""The query options of a collection: all that the service supports."""

REFERENCE_OPTIONS = COLLECTION_OPTIONS - {"$apply", "$compute", "$expand", "$select"}
"""The query options of a collection of references, which have no properties to select."""

RECORD_OPTIONS = frozenset({"$compute", "$expand", "$format", "$select"})
"""The query options of a single record."""


def allow_options(options: QueryOptions, allowed: frozenset[str], resource: str) -> None:
    """Raise `Refusal` for query options other than the allowed ones.

    400, but 501 for options that no resource supports.
    """
    for name in options.given:
        if name not in COLLECTION_OPTIONS:
            raise refusal_rows.NOT_SUPPORTED(name, construct=f"The query option {name}")
        if name not in allowed:
            raise refusal_rows.NOT_APPLICABLE(name, option=name, resource=resource)
