"""From a request to the verb that answers it."""

from collections.abc import Sequence

import msgspec

from comptoir.auth import Principal
from comptoir.config import Settings
from comptoir.edm.model import Company, Model
from comptoir.errors import COMPANY_NOT_FOUND, METHOD_NOT_ALLOWED, Refusal
from comptoir.plan.target import Shape, Target, company_of, resolve
from comptoir.plan.write import WritePlan
from comptoir.request.accept import DEFAULT, answer_format
from comptoir.request.aliases import parse_aliases, resolve_key
from comptoir.request.options import QueryOptions, parse_options
from comptoir.request.path import Segment, parse_path
from comptoir.response.response import Response
from comptoir.service.abilities import abilities
from comptoir.service.access import READING, reads_of
from comptoir.service.atomic import AtomicGroup
from comptoir.service.collections import Collections
from comptoir.service.context import Context, Request, Runtime, Verb, record_writer
from comptoir.service.describing import Describing
from comptoir.service.records import Records
from comptoir.service.writes import Writes
from comptoir.store.protocol import Reads, Renewed, Store

FORMATS_OF_THEIR_OWN = frozenset({Shape.COUNT, Shape.VALUE, Shape.METADATA})
"""What `Accept` does not choose the metadata level of: plain text, and the metadata document."""


class Service:
    """Answers requests on the records of a model, which a store holds."""

    def __init__(self, model: Model, store: Store, settings: Settings) -> None:
        self._runtime = Runtime(model, store, settings)
        collections = Collections(self._runtime)
        records = Records(self._runtime, collections)
        self._writes = Writes(self._runtime)
        describing = Describing(self._runtime, abilities(settings))
        self._verbs: dict[Shape, dict[str, Verb]] = {
            Shape.SERVICE: {"GET": describing.service},
            Shape.METADATA: {"GET": describing.metadata},
            Shape.COLLECTION: {"GET": collections.list},
            Shape.COUNT: {"GET": collections.count},
            Shape.REFERENCES: {"GET": collections.references},
            Shape.RECORD: {"GET": records.read},
            Shape.REFERENCE: {"GET": records.reference},
            Shape.PROPERTY: {"GET": records.property},
            Shape.VALUE: {"GET": records.value},
        }
        self._writable: dict[Shape, dict[str, Verb]] = {
            Shape.COLLECTION: {**self._verbs[Shape.COLLECTION], "POST": self._writes.write},
            Shape.RECORD: {
                **self._verbs[Shape.RECORD],
                "PATCH": self._writes.write,
                "PUT": self._writes.write,
                "DELETE": self._writes.write,
            },
        }
        self._narrowing: dict[str, Verb] = {"GET": records.narrowed}

    async def handle(self, request: Request) -> Response:
        """Answer a request; raises `Refusal` for one that is not answered with success.

        The checks come in this order: path, company, resource, method, syntax of the options,
        Accept, access, scope, options, media type, size, precondition, body, record, tag, values,
        uniqueness.
        """
        context, verb = await self._located(request)
        try:
            return await verb(context)
        except Renewed:
            context, verb = await self._located(request)
            return await verb(context)

    def atomic(self) -> AtomicGroup:
        """A group of writes that are done together or not at all, still empty."""
        return AtomicGroup(self._runtime.store, self._planned, self._writes.answer)

    async def _planned(self, request: Request) -> tuple[Context, WritePlan]:
        context, _ = await self._located(request)
        return context, await self._writes.plan(context)

    async def _located(self, request: Request) -> tuple[Context, Verb]:
        segments: Sequence[Segment] = parse_path(request.path)
        options = None
        if "@" in request.path or "%40" in request.path:
            options = parse_options(request.query)
            segments = self._with_values(segments, options)
        company_id = company_of(segments)
        access, company = request.access, None
        if company_id is not None:
            may_lag = access is not None and access.may_lag and request.method in READING
            company = await self.company(request.principal, company_id, may_lag=may_lag)
            if access is not None and not access.is_of(company.incarnation):
                # the company may have been renewed since it was looked up
                self._runtime.store.forget(company_id)
                company = await self.company(request.principal, company_id)
        at_root = request.path.endswith("/")
        target = resolve(self._runtime.model, segments, company_id, at_root=at_root)
        verb = self._verb(request.method, target)
        if options is None:
            # a fault of the path or the method is the better answer
            options = parse_options(request.query)
        form = DEFAULT
        if target.shape not in FORMATS_OF_THEIR_OWN:
            form = answer_format(request.headers, options.format)
        writer = record_writer(target.entity_set, form)
        if not target.entity_set.per_company and not target.hops:
            company = None
        reads: Reads = self._runtime.store
        if access is not None:
            reads = reads_of(self._runtime.store, request.method, access, company)
        return Context(request, target, company, options, writer, reads), verb

    def _with_values(self, segments: Sequence[Segment], options: QueryOptions) -> Sequence[Segment]:
        """The segments, with values in place of the aliases in their keys."""
        aliases = parse_aliases(options.aliases, self._runtime.limits)
        return [
            msgspec.structs.replace(each, key=each.key and resolve_key(each.key, aliases))
            for each in segments
        ]

    async def company(
        self, principal: Principal, company_id: str, *, may_lag: bool = False
    ) -> Company:
        """The company with an id, as `Store.company` gives it.

        Raises `Refusal` (404) unless there is one that is reached.
        """
        company = None
        if principal.reaches(company_id):
            company = await self._runtime.store.company(company_id, may_lag=may_lag)
        if company is None:
            raise Refusal(
                COMPANY_NOT_FOUND,
                f"There is no company {company_id}. GET {self._runtime.base_url}/companies lists "
                "those that the token reaches.",
            )
        return company

    def _verb(self, method: str, target: Target) -> Verb:
        entity_set, shape = target.entity_set, target.shape
        verbs = self._verbs[shape]
        if shape is Shape.RECORD and entity_set.key_narrows:
            verbs = self._narrowing
        elif not entity_set.read_only and shape in self._writable and not _is_related(target):
            verbs = self._writable[shape]
        verb = verbs.get("GET" if method == "HEAD" else method)
        if verb is None:
            allowed = ", ".join(["HEAD", *verbs])
            raise Refusal(
                METHOD_NOT_ALLOWED,
                f"{entity_set.name} does not have {method[:20]} here. It has: {allowed}.",
                headers={"Allow": allowed},
            )
        return verb


def _is_related(target: Target) -> bool:
    """Whether the path leads to a collection by navigation: records are created in their set."""
    return bool(target.hops) and target.shape is Shape.COLLECTION
