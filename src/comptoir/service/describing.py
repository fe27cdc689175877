"""What the service says of itself: the service document and the metadata document."""

from comptoir.errors import NOT_ACCEPTABLE, Refusal
from comptoir.metadata.abilities import Abilities
from comptoir.metadata.csdl import JSON, MEDIA_TYPES, XML, csdl_version, metadata_document
from comptoir.metadata.service_document import service_document
from comptoir.request.negotiation import best_liked
from comptoir.request.options import QueryOptions, parse_options
from comptoir.response.answer import Answer
from comptoir.service.context import Context, Runtime, allow_options

_FORMATS = {"xml": XML, "json": JSON, XML: XML, JSON: JSON}
_DESCRIBING = frozenset({"$format"})


class Describing:
    """The verbs that describe the service; they need a token, and no scope."""

    def __init__(self, runtime: Runtime, abilities: Abilities) -> None:
        self._model = runtime.model
        self._base_url = runtime.base_url
        self._abilities = abilities

    async def service(self, context: Context) -> Answer:
        """The sets at a service root (OData Protocol 4.01, section 11.1.1)."""
        allow_options(parse_options(context.request.query), _DESCRIBING, "the service document")
        company_id, level = context.target.company_id, context.records.level
        body = service_document(self._model, self._base_url, company_id, level)
        return Answer(200, context.headers(), body)

    async def metadata(self, context: Context) -> Answer:
        """The model (OData Protocol 4.01, section 11.1.2), in XML unless JSON is liked better."""
        options = parse_options(context.request.query)
        allow_options(options, _DESCRIBING, "the metadata document")
        media_type = _media_type(context, options)
        max_version = context.request.headers.get(b"odata-maxversion", b"").decode("latin-1")
        version = csdl_version(media_type, max_version or None)
        body = metadata_document(
            self._model,
            self._abilities,
            media_type,
            version,
            under_company=context.target.company_id is not None,
        )
        headers = [(b"content-type", media_type.encode()), (b"odata-version", version.encode())]
        return Answer(200, headers, body)


def _media_type(context: Context, options: QueryOptions) -> str:
    if options.format is not None:
        wanted = options.format.partition(";")[0].strip().lower()
        found = _FORMATS.get(wanted)
    else:
        accept = context.request.headers.get(b"accept")
        found = best_liked(None if accept is None else accept.decode("latin-1"), MEDIA_TYPES)
    if found is None:
        raise Refusal(
            NOT_ACCEPTABLE,
            "$metadata comes as application/xml or application/json. Accept one of them.",
            target="Accept" if options.format is None else "$format",
        )
    return found
