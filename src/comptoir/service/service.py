"""The dispatch of requests to the verbs."""

from collections.abc import Mapping, Sequence
from functools import cache, partial
from itertools import pairwise
from time import perf_counter

from comptoir.auth.roles import Right, require
from comptoir.auth.tokens import Scope
from comptoir.config import Settings
from comptoir.edm.model import Company, EntitySet, Model
from comptoir.errors import refusal_rows as rows
from comptoir.errors.refusal import Refusal
from comptoir.plan.target import Resource, Target, authorize_target, resolve, right_for
from comptoir.plan.write import WritePlan
from comptoir.request.headers import DEFAULT, response_format, spaced_format
from comptoir.request.options import OptionParser
from comptoir.request.path import READ_METHODS, Parsed, parse
from comptoir.response.response import Response
from comptoir.service.context import (
    Context,
    Mounted,
    Request,
    Runtime,
    Verb,
    record_writer,
    without_store,
)
from comptoir.service.descriptions import capabilities, metadata, service_document
from comptoir.service.reads import READS, Table, read_narrowed, read_table
from comptoir.service.writes import AtomicGroup, plan_write, write_record
from comptoir.store.store import Renewed, Store

STAGES = ("parse", "bind", "store", "response")
"""The stages of a request, as `Server-Timing` names them."""

_WITHOUT_METADATA_LEVEL = frozenset(
    {Resource.COUNT, Resource.VALUE, Resource.STREAM, Resource.METADATA}
)
"""Plain text, bytes and `$metadata`, whose format does not depend on a metadata level."""


_OF_RECORDS = frozenset({Resource.COLLECTION, Resource.RECORD})
"""The resources that clients only read in a set that is not theirs to write."""

_WRITTEN: Mapping[Resource, Sequence[str]] = {
    Resource.COLLECTION: ("POST",),
    Resource.RECORD: ("PATCH", "PUT", "DELETE"),
    Resource.STREAM: ("PATCH",),
    Resource.ACTION: ("POST",),
}
"""The methods that write."""

_WITHOUT_SCOPE = frozenset({Resource.SERVICE, Resource.METADATA})
"""The descriptions of the service, which every valid token may read."""


class Service:
    """Answers requests for the records of a model, and for what is mounted beside them.

    `renamed` is the same model with the other form of enumerations, for requests that want that.
    """

    def __init__(
        self, model: Model, store: Store, settings: Settings, renamed: Model | None = None
    ) -> None:
        self._runtime = Runtime(model, store, settings, renamed)
        queries = settings.behaviour.queries
        self.options = OptionParser(queries.versions, queries.unsupported)
        self.format_of = spaced_format if settings.behaviour.envelope.spaced else response_format
        self._parse = partial(parse, self.options, self._runtime.limits, self.format_of)
        self._mounted: list[Mounted] = []
        describe = partial(metadata, capabilities(settings))
        self._verbs: dict[Resource, dict[str, Verb]] = {
            Resource.SERVICE: {"GET": without_store(service_document)},
            Resource.METADATA: {"GET": without_store(describe)},
            **{resource: {"GET": verb} for resource, verb in READS.items()},
        }
        for resource, methods in _WRITTEN.items():
            verbs = dict.fromkeys(methods, write_record)
            self._verbs[resource] = {**self._verbs.get(resource, {}), **verbs}
        self._cached_verbs = cache(self._verbs_of)
        self._shows_times = settings.server_timing == "on"

    def mount(self, resource: Mounted) -> None:
        """Answer the requests to a resource by itself."""
        self._mounted.append(resource)

    async def handle(self, request: Request) -> Response:
        """Answer a request; raises `Refusal` unless the request succeeds.

        The checks come in this order: path, company, resource, method, syntax of the options,
        Accept, access, scope, roles, options, media type, size, precondition, body, record, tag,
        values, uniqueness.
        """
        for each in self._mounted:
            if each.paths.fullmatch(request.path) is not None:
                return await each.handle(request)
        try:
            return await self._answer(request)
        except Renewed:
            return await self._answer(request)

    async def table(self, request: Request, names: tuple[str, ...], page_size: int) -> Table:
        """A page of a collection as rows with these properties; raises `Refusal` as `handle`."""
        parsed = self._parse(request.path, request.query, request.headers)
        context, _ = await self._bind(parsed, request)
        return await read_table(context, names, page_size)

    async def _answer(self, request: Request) -> Response:
        """Parse a request, bind it, run it on the store, and make the response."""
        began = perf_counter()
        parsed = self._parse(request.path, request.query, request.headers)
        parsed_at = perf_counter()
        context, verb = await self._bind(parsed, request)
        run = await verb(context)
        bound_at = perf_counter()
        respond = await run()
        stored_at = perf_counter()
        response = await respond()
        if self._shows_times:
            times = (began, parsed_at, bound_at, stored_at, perf_counter())
            response.headers.append((b"server-timing", _server_timing(times)))
        return response

    def atomic(self) -> AtomicGroup:
        """An empty group of writes that succeed or fail together."""
        return AtomicGroup(self._runtime.store, self._planned)

    async def _planned(self, request: Request) -> tuple[Context, WritePlan]:
        parsed = self._parse(request.path, request.query, request.headers)
        context, _ = await self._bind(parsed, request)
        return context, await plan_write(context)

    async def _bind(self, parsed: Parsed, request: Request) -> tuple[Context, Verb]:
        """Bind a path to the model; all checks that no verb repeats, after those of its syntax.

        The verb binds the rest. A syntax error of the options is raised here, after the errors of
        the path and the method.
        """
        segments = parsed.segments
        company_id = parsed.company_id
        access, company = request.access, None
        if company_id is not None:
            may_lag = access is not None and access.may_lag and request.method in READ_METHODS
            company = await self.company(request, company_id, may_lag=may_lag)
            if access is not None and not access.is_of(company.incarnation):
                # the company may have been renewed since it was looked up
                self._runtime.store.forget(company_id)
                company = await self.company(request, company_id)
        at_root = request.path.endswith("/")
        try:
            target = resolve(self._runtime.model, segments, company_id, at_root=at_root)
        except Refusal as refusal:
            raise _placed(refusal, request) from None
        verb = self._verb(request.method, target)
        options = parsed.options
        if isinstance(options, Refusal):
            raise options
        if options.schemaversion is not None:
            model = self._runtime.models[options.schemaversion]
            target = resolve(model, segments, company_id, at_root=at_root)
        form = DEFAULT
        if target.resource not in _WITHOUT_METADATA_LEVEL:
            if isinstance(parsed.form, Refusal):
                raise parsed.form
            form = parsed.form
        entity_set = target.entity_set
        writer = record_writer(request.root, entity_set, form)
        if not entity_set.per_company and not target.steps:
            company = None
        reads = request.reads or self._runtime.store
        if access is not None and request.reads is None:
            reads = self._runtime.reads(request.method, access, company)
        if target.resource not in _WITHOUT_SCOPE:
            self._authorize(request, target)
        preferred = parsed.preferences
        return Context(
            self._runtime, request, target, entity_set, company, options, preferred, writer, reads
        ), verb

    def _authorize(self, request: Request, target: Target) -> None:
        """Raise `Refusal` (403) unless the principal's scopes and roles allow a request."""
        principal, reads_only = request.principal, request.method in READ_METHODS
        scope = Scope.RECORDS_READ if reads_only else Scope.RECORDS_WRITE
        if scope not in principal.scopes:
            require(principal, scope)
        if principal.rights is not None:
            right = Right.MODIFY
            if target.action is None:
                upserts = self._runtime.write_rules.if_none_match
                right = right_for(request.method, request.headers, upserts=upserts)
            authorize_target(target, right, principal.rights)

    async def company(self, request: Request, company_id: str, *, may_lag: bool = False) -> Company:
        """The company of a request, looked up as by `Store.company`.

        Raises `Refusal` (404) if it does not exist or the principal's token does not allow it.
        """
        company = None
        companies = request.principal.companies
        if companies is None or company_id in companies:
            store = self._runtime.store
            company = store.cached_company(company_id, may_lag=may_lag)
            if company is None:
                company = await store.company(company_id, may_lag=may_lag)
        if company is None:
            raise rows.UNKNOWN_COMPANY(company=company_id, root=request.root.url)
        return company

    def _verbs_of(
        self, entity_set: EntitySet, resource: Resource, *, is_related: bool
    ) -> dict[str, Verb]:
        """The verbs of a resource by their methods."""
        verbs = self._verbs[resource]
        if resource is Resource.RECORD and entity_set.key_narrows:
            verbs = {"GET": read_narrowed}
        # records are created in their own set, or where they are contained
        elif (entity_set.read_only and resource in _OF_RECORDS) or (
            is_related and resource is Resource.COLLECTION
        ):
            verbs = {"GET": verbs["GET"]}
        return {"HEAD": verbs["GET"], **verbs} if "GET" in verbs else verbs

    def _verb(self, method: str, target: Target) -> Verb:
        verbs = self._cached_verbs(
            target.entity_set,
            target.resource,
            is_related=bool(target.steps) and not target.steps[-1].navigation.contained,
        )
        verb = verbs.get(method)
        if verb is None:
            row = rows.MERGE if method == "MERGE" else rows.METHOD
            if target.resource is Resource.COLLECTION:
                row = rows.METHOD_ON_SET
            name, allowed = _name(target), ", ".join(verbs)
            raise row(method=method, resource=name, allowed=allowed, set=target.segment)
        return verb


def _server_timing(times: Sequence[float]) -> bytes:
    """The value of `Server-Timing` (W3C Server Timing), by the times between the stages."""
    stages = zip(STAGES, pairwise(times), strict=True)
    return ", ".join(
        f"{name};dur={1_000 * (end - begin):.3f}" for name, (begin, end) in stages
    ).encode()


def _placed(refusal: Refusal, request: Request) -> Refusal:
    """The refusal of a path, with the group that the request's service root has for it."""
    if refusal.group == "UNKNOWN_SEGMENT":
        query = f"?{request.query}" if request.query else ""
        url = f"{request.root.address(request.path)}{query}"
        refusal.grouped(request.root.unknown, url=url)
    return refusal


def _name(target: Target) -> str:
    match target.resource:
        case Resource.SERVICE | Resource.METADATA:
            return target.resource
        case Resource.COLLECTION:
            return target.entity_set.name
    return f"{target.resource} of {target.entity_set.name}"
