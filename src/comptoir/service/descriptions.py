"""The service documents and `$metadata`."""

from collections.abc import Sequence

import msgspec

from comptoir.auth.origins import own_origins, token_url
from comptoir.auth.tokens import Scope
from comptoir.config import Settings
from comptoir.edm.model import EntitySet
from comptoir.errors import refusal_rows as rows
from comptoir.metadata.annotations import Capabilities
from comptoir.metadata.csdl import JSON, MEDIA_TYPES, XML, metadata_document
from comptoir.plan.apply import methods_of
from comptoir.plan.expressions.calls import SUPPORTED
from comptoir.plan.target import COMPANIES, may_read
from comptoir.request.apply import TRANSFORMATIONS
from comptoir.request.headers import preferred_media_type, speaks_401
from comptoir.response.response import Response
from comptoir.service.context import FORMAT_OPTIONS, Context, Runtime, allow_options

_NONE = "none"


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


class Descriptions:
    """The verbs that describe the service."""

    def __init__(self, runtime: Runtime) -> None:
        self._model = runtime.model
        self._capabilities = capabilities(runtime.settings)
        contained = (
            self._model.per_company if runtime.settings.behaviour.routes.sets_at_root else ()
        )
        self._at_root = (self._model.companies, *contained)

    async def service(self, context: Context) -> Response:
        """The entity sets at a service root (OData Protocol 4.01, section 11.1.1).

        Without those whose records the principal's roles do not allow to read.
        """
        allow_options(context.options, FORMAT_OPTIONS, context.target.resource)
        company_id, model = context.target.company_id, self._model
        path = "" if company_id is None else f"/{COMPANIES}({company_id})"
        sets = model.per_company if company_id is not None else self._at_root
        listed = [each for each in sets if may_read(each, context.readable)]
        body = service_document(context.request.root.address(path), listed, context.records.level)
        return Response(200, context.headers(), body)

    async def metadata(self, context: Context) -> Response:
        """The model (OData Protocol 4.01, section 11.1.2), in XML unless JSON is preferred."""
        allow_options(context.options, FORMAT_OPTIONS, context.target.resource)
        headers, option = context.request.headers, context.options.format
        reads_401 = speaks_401(headers)
        found = _supported(preferred_media_type(headers, MEDIA_TYPES, option), option, reads_401)
        # some clients refuse XML of another version than 4.0; JSON exists since 4.01
        version = "4.01" if found == JSON or reads_401 else "4.0"
        body = metadata_document(
            self._model,
            self._capabilities,
            found,
            version,
            under_company=context.target.company_id is not None,
        )
        content = [(b"content-type", found.encode()), (b"odata-version", version.encode())]
        return Response(200, content, body)


def _supported(found: str, option: str | None, reads_401: bool | None) -> str:
    """The media type; XML instead of JSON for a client of OData 4.0, which has no CSDL JSON.

    `reads_401` is the result of `speaks_401`. Raises `Refusal` (406) if `$format` requires JSON.
    """
    if found != JSON or reads_401 is not False:
        return found
    if option is not None:
        raise rows.JSON_METADATA("$format")
    return XML


def service_document(root: str, sets: Sequence[EntitySet], level: str) -> bytes:
    """List the entity sets at the URL of a service root (OData JSON Format 4.01, section 5).

    With the metadata level `none` the URLs are absolute: without a context URL, relative ones would
    have no base.
    """
    listed = [
        {
            "name": each.name,
            "kind": "EntitySet",
            "url": f"{root}/{each.name}" if level == _NONE else each.name,
        }
        for each in sets
    ]
    context = {} if level == _NONE else {"@odata.context": f"{root}/$metadata"}
    return msgspec.json.encode({**context, "value": listed})
