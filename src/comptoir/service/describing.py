"""What the service says of itself: the service document and the metadata document."""

from comptoir.errors import NOT_ACCEPTABLE, Refusal
from comptoir.metadata.abilities import Abilities
from comptoir.metadata.csdl import JSON, MEDIA_TYPES, XML, csdl_version, metadata_document
from comptoir.metadata.service_document import service_document
from comptoir.request.accept import media_type
from comptoir.request.headers import speaks_401
from comptoir.response.response import Response
from comptoir.service.context import FORMATTING, Context, Runtime, allow_options


class Describing:
    """The verbs that describe the service; they need a token, and no scope."""

    def __init__(self, runtime: Runtime, abilities: Abilities) -> None:
        self._model = runtime.model
        self._base_url = runtime.base_url
        self._abilities = abilities

    async def service(self, context: Context) -> Response:
        """The sets at a service root (OData Protocol 4.01, section 11.1.1)."""
        allow_options(context.options, FORMATTING, "the service document")
        company_id, level = context.target.company_id, context.records.level
        body = service_document(self._model, self._base_url, company_id, level)
        return Response(200, context.headers(), body)

    async def metadata(self, context: Context) -> Response:
        """The model (OData Protocol 4.01, section 11.1.2), in XML unless JSON is liked better."""
        allow_options(context.options, FORMATTING, "the metadata document")
        headers, option = context.request.headers, context.options.format
        speaks = speaks_401(headers)
        found = _readable(media_type(headers, MEDIA_TYPES, option), option, speaks)
        version = csdl_version(found, speaks_401=bool(speaks))
        body = metadata_document(
            self._model,
            self._abilities,
            found,
            version,
            under_company=context.target.company_id is not None,
        )
        told = [(b"content-type", found.encode()), (b"odata-version", version.encode())]
        return Response(200, told, body)


def _readable(found: str, option: str | None, speaks: bool | None) -> str:
    """XML instead of JSON for a client that reads nothing above 4.0, which has no CSDL JSON.

    `speaks` is what `speaks_401` returned. Raises `Refusal` (406) when `$format` names JSON: such a
    URL asks for nothing else.
    """
    if found != JSON or speaks is not False:
        return found
    if option is not None:
        raise Refusal(
            NOT_ACCEPTABLE,
            "The metadata document has no JSON form before OData 4.01, and OData-MaxVersion allows "
            "4.0. Ask for $format=xml, or send OData-MaxVersion: 4.01.",
            target="$format",
        )
    return XML
