"""The input of the verbs: the request with the target of its path, and the runtime."""

from collections.abc import Awaitable, Callable, Generator
from functools import lru_cache
from typing import TypeVar

import msgspec

from comptoir.auth import Principal
from comptoir.config import Settings
from comptoir.edm.model import Company, EntitySet, Model
from comptoir.edm.types import Stored
from comptoir.errors import BAD_REQUEST, Refusal
from comptoir.plan.expressions.binding_context import AliasTexts, BindingContext
from comptoir.plan.read import Computed, PagePlan, RecordPlan, Row, Within
from comptoir.plan.target import RecordAddress, RecordPath, Target, record_not_found
from comptoir.refusals import inapplicable, unsupported
from comptoir.request.expression.parser import ExpressionLimits
from comptoir.request.headers import INTENT, TOKEN, Access, Format, Headers
from comptoir.request.options import QueryOptions
from comptoir.response.records import WHOLE, RecordShape, RecordWriter
from comptoir.response.response import ODATA_VERSION, Header, Response
from comptoir.store.store import Reads, Store, WhileConnected

T = TypeVar("T")

READ_METHODS = frozenset({"GET", "HEAD"})


class Request(msgspec.Struct):
    """A request to the API.

    `path` and `query` are percent-encoded, and the path lacks the base path. `read_body` reads the
    body up to its limit. `while_connected` cancels a long read when the client disconnects.
    `access` is None without its headers.
    """

    method: str
    path: str
    query: str
    headers: Headers
    principal: Principal
    read_body: Callable[[], Awaitable[bytes]]
    while_connected: WhileConnected
    access: Access | None = None


class Runtime:
    """The model, the store of its records, and the settings: the same for all requests."""

    def __init__(self, model: Model, store: Store, settings: Settings) -> None:
        self.model = model
        self.store = store
        self.settings = settings
        self.base_url = settings.base_url
        self.limits = ExpressionLimits(
            nodes=settings.expression_nodes,
            depth=settings.expression_depth,
            in_list=settings.expression_list,
        )
        self._plain_contexts = {
            each: BindingContext(model, each, self.limits) for each in model.sets
        }

    def binding_context(
        self, entity_set: EntitySet, aliases: AliasTexts = (), computed: Computed = ()
    ) -> BindingContext:
        """The binding context of expressions over a set's records."""
        if aliases or computed:
            return BindingContext(self.model, entity_set, self.limits, computed, aliases)
        return self._plain_contexts[entity_set]

    def reads(self, method: str, access: Access | None, company: Company | None) -> Reads:
        """The store for a request's reads: a replica if `access` allows one.

        A replica's lag is measured by a company's change numbers, so it serves only reads of one
        company. Raises `Refusal` (400) for a write that claims to read only, and for a consistency
        token of another company or incarnation.
        """
        if access is None:
            return self.store
        reads = method in READ_METHODS
        if access.intent == "readonly" and not reads:
            raise Refusal(
                BAD_REQUEST,
                f"{INTENT}: ReadOnly does not allow {method[:20]}",
                "Remove the header, or send ReadWrite.",
                target=INTENT,
            )
        if company is None:
            return self.store
        seen = access.seen
        if seen is not None and seen.incarnation != company.incarnation:
            raise Refusal(
                BAD_REQUEST,
                f"The {TOKEN} is for another company, or from before the company was restored",
                "Send the token of the last write to this company, or none.",
                target=TOKEN,
            )
        if not (reads and access.may_lag):
            return self.store
        return self.store.replicated(company, 0 if seen is None else seen.number)


@lru_cache(1_000)
def record_writer(
    base_url: str, entity_set: EntitySet, form: Format, shape: RecordShape = WHOLE
) -> RecordWriter:
    """The writer of a set's records in a format and a shape."""
    return RecordWriter(base_url, entity_set, form, shape)


class Context(msgspec.Struct):
    """A request with the target of its path, its query options, and the store for its reads."""

    request: Request
    target: Target
    company: Company | None
    options: QueryOptions
    records: RecordWriter
    reads: Reads

    @property
    def entity_set(self) -> EntitySet:
        """The set of the records that the path names."""
        return self.target.entity_set

    @property
    def address(self) -> RecordAddress:
        """The key of the record that the path names, or the path that leads to it."""
        target = self.target
        if target.key is not None and not target.steps:
            return target.key
        return RecordPath(target, self.company)

    def required_company(self) -> Company:
        """The company of the path; raises `LookupError` if there is none."""
        if self.company is None:
            raise LookupError(f"{self.entity_set.name} without a company")
        return self.company

    def headers(self) -> list[Header]:
        """The headers of a response with records."""
        return [(b"content-type", self.records.media_type), ODATA_VERSION]

    async def row(self, computed: Computed = ()) -> Row | None:
        """The record that the path names, with the computed values after its properties.

        None if a navigation property leads to no record. Raises `Refusal` (404) if the path
        contains a key that no record has.
        """
        address = self.address
        if computed or isinstance(address, RecordPath):
            return await self._committed(RecordPath(self.target, self.company).lookup(computed))
        plan = RecordPlan(self.entity_set, self.company, address)
        row = await self.reads.record(plan)
        if row is None:
            raise record_not_found(self.entity_set, address)
        return row

    async def key(self) -> Stored:
        """The key of the record that the path names; raises `Refusal` (404) if there is none."""
        address = self.address
        if isinstance(address, RecordPath):
            return self.records.key(await self._committed(address.record()))
        return address

    async def within(self) -> Within | None:
        """The values of the records to which the navigation of the path leads.

        None if it leads to no records. Raises `Refusal` (404) as `row` does.
        """
        return await self._committed(RecordPath(self.target, self.company).within())

    async def _committed(self, lookup: Generator[PagePlan, list[Row], T]) -> T:
        """Run a lookup on committed data."""
        try:
            plan = next(lookup)
            while True:
                pages = self.reads.page(plan, self.request.while_connected)
                plan = lookup.send([row async for rows in pages for row in rows])
        except StopIteration as end:
            found: T = end.value
            return found


Verb = Callable[[Context], Awaitable[Response]]
"""Answers a request whose path and method are valid; raises `Refusal`."""

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
            raise unsupported(f"The query option {name}", name)
        if name not in allowed:
            raise inapplicable(name, resource)
