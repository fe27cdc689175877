"""From a request to the verb that answers it."""

from comptoir.config import Settings
from comptoir.edm.model import EntitySet, Model
from comptoir.errors import COMPANY_NOT_FOUND, METHOD_NOT_ALLOWED, Refusal
from comptoir.plan.target import Company, company_of, resolve
from comptoir.request.path import parse_path
from comptoir.response.answer import Answer
from comptoir.service.collections import Collections
from comptoir.service.context import Context, Request, Runtime, Verb
from comptoir.service.records import Records
from comptoir.service.writes import Writes
from comptoir.store.protocol import Store


class Service:
    """Answers requests on the records of a model, which a store holds."""

    def __init__(self, model: Model, store: Store, settings: Settings) -> None:
        self._runtime = Runtime(model, store, settings)
        collections = Collections(self._runtime)
        records = Records(self._runtime, collections)
        writes = Writes(self._runtime)
        self._of_collection: dict[str, Verb] = {"GET": collections.list}
        self._of_writable_collection = {**self._of_collection, "POST": writes.create}
        self._of_record: dict[str, Verb] = {"GET": records.read}
        self._of_writable_record = {**self._of_record, "PATCH": writes.update}
        self._of_narrowing_key: dict[str, Verb] = {"GET": records.narrowed}

    async def handle(self, request: Request) -> Answer:
        """Answer a request; raises `Refusal` for one that is not answered with success.

        The checks come in this order: path, company, resource, method, Accept, scope, options,
        media type, size, precondition, body, record, tag, values, uniqueness.
        """
        segments = parse_path(request.path)
        company_id = company_of(segments)
        company = None if company_id is None else await self._company(request, company_id)
        target = resolve(self._runtime.model, segments, company_id)
        verb = self._verb(request.method, target.entity_set, alone=target.key is not None)
        writer = self._runtime.writer(target.entity_set, request.headers)
        if not target.entity_set.per_company:
            company = None
        return await verb(Context(request, target, company, writer))

    async def _company(self, request: Request, company_id: str) -> Company:
        company = None
        if request.principal.reaches(company_id):
            company = await self._runtime.store.company(company_id)
        if company is None:
            raise Refusal(
                COMPANY_NOT_FOUND,
                f"There is no company {company_id}. GET {self._runtime.base_url}/companies lists "
                "those that the token reaches.",
            )
        return company

    def _verb(self, method: str, entity_set: EntitySet, *, alone: bool) -> Verb:
        if not alone:
            writable, plain = self._of_writable_collection, self._of_collection
        elif entity_set.key_narrows:
            writable = plain = self._of_narrowing_key
        else:
            writable, plain = self._of_writable_record, self._of_record
        verbs = plain if entity_set.read_only else writable
        verb = verbs.get("GET" if method == "HEAD" else method)
        if verb is None:
            allowed = ", ".join(["HEAD", *verbs])
            raise Refusal(
                METHOD_NOT_ALLOWED,
                f"{entity_set.name} does not have {method[:20]} here. It has: {allowed}.",
                headers={"Allow": allowed},
            )
        return verb
