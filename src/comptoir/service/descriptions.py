"""The service documents and `$metadata`."""

from comptoir.auth import Scope
from comptoir.config import Settings
from comptoir.errors import NOT_ACCEPTABLE, Refusal
from comptoir.metadata.annotations import Capabilities
from comptoir.metadata.csdl import JSON, MEDIA_TYPES, XML, csdl_version, metadata_document
from comptoir.metadata.service_document import service_document
from comptoir.plan.apply import TRANSFORMATIONS, methods_of
from comptoir.plan.expressions.calls import SUPPORTED
from comptoir.request.headers import preferred_media_type, speaks_401
from comptoir.response.response import Response
from comptoir.service.context import FORMAT_OPTIONS, Context, Runtime, allow_options


def capabilities(settings: Settings) -> Capabilities:
    """The capabilities of the service with these settings."""
    return Capabilities(
        filter_functions=tuple(sorted(SUPPORTED)),
        transformations=TRANSFORMATIONS,
        methods_of=methods_of,
        expand_levels=settings.expand_depth,
        read_scope=Scope.RECORDS_READ.value,
        write_scope=Scope.RECORDS_WRITE.value,
    )


class Descriptions:
    """The verbs that describe the service."""

    def __init__(self, runtime: Runtime) -> None:
        self._model = runtime.model
        self._base_url = runtime.base_url
        self._capabilities = capabilities(runtime.settings)

    async def service(self, context: Context) -> Response:
        """The entity sets at a service root (OData Protocol 4.01, section 11.1.1)."""
        allow_options(context.options, FORMAT_OPTIONS, context.target.resource)
        company_id, level = context.target.company_id, context.records.level
        body = service_document(self._model, self._base_url, company_id, level)
        return Response(200, context.headers(), body)

    async def metadata(self, context: Context) -> Response:
        """The model (OData Protocol 4.01, section 11.1.2), in XML unless JSON is preferred."""
        allow_options(context.options, FORMAT_OPTIONS, context.target.resource)
        headers, option = context.request.headers, context.options.format
        reads_401 = speaks_401(headers)
        found = _supported(preferred_media_type(headers, MEDIA_TYPES, option), option, reads_401)
        version = csdl_version(found, speaks_401=bool(reads_401))
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
        raise Refusal(
            NOT_ACCEPTABLE,
            "$metadata in JSON requires OData 4.01, and OData-MaxVersion allows 4.0",
            "Send $format=xml, or OData-MaxVersion: 4.01.",
            target="$format",
        )
    return XML
