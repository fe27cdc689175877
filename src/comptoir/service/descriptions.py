"""The service documents and `$metadata`."""

import msgspec

from comptoir.auth.origins import own_origins, token_url
from comptoir.auth.tokens import Scope
from comptoir.config import Settings
from comptoir.errors import refusal_rows as rows
from comptoir.metadata.annotations import Capabilities
from comptoir.metadata.csdl import JSON, MEDIA_TYPES, XML, metadata_document
from comptoir.plan.apply import methods_of
from comptoir.plan.expressions.calls import SUPPORTED
from comptoir.plan.target import may_read
from comptoir.request.apply import TRANSFORMATIONS
from comptoir.request.headers import preferred_media_type, speaks_401
from comptoir.request.path import COMPANIES
from comptoir.response.records import NONE
from comptoir.response.response import Response
from comptoir.service.context import FORMAT_OPTIONS, Context, allow_options


def capabilities(settings: Settings) -> Capabilities:
    """The capabilities of the service with these settings."""
    return Capabilities(
        behaviour=settings.behaviour,
        filter_functions=tuple(sorted(SUPPORTED)),
        transformations=TRANSFORMATIONS,
        methods_of=methods_of,
        expand_levels=settings.expand_depth,
        read_scope=Scope.RECORDS_READ.value,
        write_scope=Scope.RECORDS_WRITE.value,
        token_url=token_url(own_origins(settings)[0], settings.tenants[0]),
    )


async def service_document(context: Context) -> Response:
    """The entity sets at a service root (OData Protocol 4.01, 11.1.1; JSON Format 4.01, 5).

    Without those whose records the principal's roles do not allow to read.
    """
    allow_options(context.options, FORMAT_OPTIONS, context.target.resource)
    company_id, model = context.target.company_id, context.runtime.model
    path = "" if company_id is None else f"/{COMPANIES}({company_id})"
    sets = model.per_company
    if company_id is None:
        at_root = context.runtime.behaviour.routes.sets_at_root
        sets = (model.companies, *(sets if at_root else ()))
    listed = [each for each in sets if may_read(each, context.readable)]
    root, level = context.request.root.address(path), context.records.level
    # without a context URL, relative URLs would have no base
    base = f"{root}/" if level == NONE else ""
    value = [
        {"name": each.name, "kind": "EntitySet", "url": f"{base}{each.name}"} for each in listed
    ]
    control = {} if level == NONE else {"@odata.context": f"{root}/$metadata"}
    return Response(200, context.headers(), msgspec.json.encode({**control, "value": value}))


async def metadata(announced: Capabilities, context: Context) -> Response:
    """The model (OData Protocol 4.01, section 11.1.2), in XML unless JSON is preferred.

    Raises `Refusal` (406) if `$format` requires JSON of OData 4.0.
    """
    allow_options(context.options, FORMAT_OPTIONS, context.target.resource)
    headers, option = context.request.headers, context.options.format
    reads_401 = speaks_401(headers)
    found = preferred_media_type(headers, MEDIA_TYPES, option)
    if found == JSON and reads_401 is False:
        # OData 4.0 has no CSDL JSON
        if option is not None:
            raise rows.JSON_METADATA("$format")
        found = XML
    # some clients refuse XML of another version than 4.0; JSON exists since 4.01
    version = "4.01" if found == JSON or reads_401 else "4.0"
    body = metadata_document(
        context.runtime.model,
        announced,
        found,
        version,
        under_company=context.target.company_id is not None,
    )
    content = [(b"content-type", found.encode()), (b"odata-version", version.encode())]
    return Response(200, content, body)
