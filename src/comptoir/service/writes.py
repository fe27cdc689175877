"""Writing records: each write is one unit of work."""

from comptoir.auth import Scope, require
from comptoir.errors import ENTITY_CHANGED, PRECONDITION_REQUIRED, Refusal
from comptoir.plan.read import Row
from comptoir.plan.write import CreatePlan, UpdatePlan, WritePlan, bind_create, bind_update
from comptoir.request.headers import entity_tags, names_protocol, require_json
from comptoir.request.options import parse_options
from comptoir.request.payload import parse_object
from comptoir.response.answer import Answer
from comptoir.service.context import Context, Runtime, refuse_options
from comptoir.service.places import Places


class Writes:
    """The verbs that write a record."""

    def __init__(self, runtime: Runtime, places: Places) -> None:
        self._store = runtime.store
        self._places = places
        self._base_url = runtime.base_url

    async def create(self, context: Context) -> Answer:
        """Create a record (201)."""
        request, entity_set = context.request, context.entity_set
        require(request.principal, Scope.RECORDS_WRITE)
        refuse_options(parse_options(request.query), "a create")
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
                context.under(),
                values,
                request.principal.subject,
                guard,
                must_not_exist,
            ),
        )

    async def update(self, context: Context) -> Answer:
        """Change the properties that the body gives (200), or create the record (201)."""
        request, entity_set = context.request, context.entity_set
        require(request.principal, Scope.RECORDS_WRITE)
        refuse_options(parse_options(request.query), "an update")
        require_json(request.headers)
        content = await request.read_body()
        if_match = entity_tags(request.headers, b"if-match")
        none_match = entity_tags(request.headers, b"if-none-match")
        must_not_exist = none_match is not None and none_match.any
        if if_match is None and not must_not_exist:
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
        by, company = request.principal.subject, context.under()
        key = await self._places.key(context)
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

    def _entity(self, context: Context, status: int, row: Row) -> Answer:
        records, company = context.records, context.company
        headers = context.headers()
        headers.append((b"etag", records.tag(company, row).encode()))
        return Answer(status, headers, records.record(self._base_url, company, row))


def _precondition_required(message: str) -> Refusal:
    return Refusal(PRECONDITION_REQUIRED, message, target="If-Match")
