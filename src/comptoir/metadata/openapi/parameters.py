"""The query options and headers, each declared once and referred to by its name."""

from collections.abc import Mapping

from comptoir.config import Settings
from comptoir.edm.types import JsonSchema

PAGE_OPTIONS = (
    "$filter",
    "$orderby",
    "$select",
    "$expand",
    "$search",
    "$compute",
    "$apply",
    "$top",
    "$skip",
    "$count",
    "$format",
)
_OF_RECORDS = ("$select", "$expand", "$compute", "$apply")
REFERENCE_OPTIONS = tuple(each for each in PAGE_OPTIONS if each not in _OF_RECORDS)
RECORD_OPTIONS = ("$select", "$expand", "$compute", "$format")
COUNT_OPTIONS = ("$filter", "$search", "$apply")

PREFER_PAGE, PREFER_RETURN = "Prefer-page", "Prefer-return"
IF_MATCH, IF_MATCH_OPTIONAL = "If-Match", "If-Match-optional"
IF_NONE_MATCH, IF_NONE = "If-None-Match", "If-None-Match-any"
MAX_VERSION = "OData-MaxVersion"
ACCESS = ("Data-Access-Intent", "Consistency-Token")
REPEATABLE = ("Repeatability-Request-ID", "Repeatability-First-Sent")

_TAG = r'(W/)?"[!#-~\u0080-\u00ff]*"'
_TAGS = rf"^(\*|{_TAG}( *, *{_TAG})*)$"
_SEEN = r"^[0-9a-f]{1,32}\.[0-9]{1,18}$"
_DATE = r"^[A-Z][a-z]{2}, [0-9]{2} [A-Z][a-z]{2} [0-9]{4} [0-9]{2}:[0-9]{2}:[0-9]{2} GMT$"


def parameter(name: str) -> JsonSchema:
    """A parameter by the name that it is declared under."""
    return {"$ref": f"#/components/parameters/{name.lstrip('$')}"}


def parameters(settings: Settings) -> Mapping[str, JsonSchema]:
    """Every shared parameter by its name, query options without their `$`."""
    options = {
        name.lstrip("$"): {"name": name, "in": "query", "description": said, "schema": schema}
        for name, said, schema in _options()
    }
    headers: dict[str, JsonSchema] = {
        name: {"name": header, "in": "header", "description": said, "schema": schema}
        for name, header, said, schema in _headers(settings)
    }
    headers[IF_MATCH] = {**headers[IF_MATCH], "required": True}
    return {**options, **headers}


def _options() -> tuple[tuple[str, str, JsonSchema], ...]:
    """Options with expressions have formats of their own, by which generators can know them.

    Tokens are left out: they stand in links, and nobody else makes them.
    """
    number: JsonSchema = {"type": "integer", "minimum": 0}
    return (
        ("$filter", "Which records: `displayName eq 'A' and not privacyBlocked`.", _of("filter")),
        ("$orderby", "In which order: `city, displayName desc`.", _of("orderby")),
        ("$select", "Which properties: `id,displayName`.", _of("select")),
        ("$expand", "Which related records as well: `people($top=3)`.", _of("expand")),
        ("$search", 'Words in the texts: `chair OR "office desk" NOT red`.', _of("search")),
        ("$compute", "Properties computed: `unitPrice mul quantity as total`.", _of("compute")),
        (
            "$apply",
            "Aggregated, before the other options apply: `groupby((city),aggregate($count as n))`.",
            _of("apply"),
        ),
        ("$top", "How many records at most.", number),
        ("$skip", "How many records to leave out first.", number),
        ("$count", "Whether to count all that match.", {"type": "boolean"}),
        (
            "$format",
            "The media type, when `Accept` cannot be sent.",
            {"type": "string", "minLength": 1},
        ),
    )


def _of(option: str) -> JsonSchema:
    return {"type": "string", "format": f"odata-{option}"}


def _headers(settings: Settings) -> tuple[tuple[str, str, str, JsonSchema], ...]:
    tags: JsonSchema = {"type": "string", "pattern": _TAGS}
    text: JsonSchema = {"type": "string"}
    pages = (
        f"`odata.maxpagesize=N`: so many records on a page, {settings.page_size:,} by default, up "
        f"to {settings.max_page_size:,}. `odata.track-changes`: a link to what will change."
    )
    return (
        (IF_MATCH, "If-Match", "The record's `@odata.etag`, several, or `*`.", tags),
        (IF_MATCH_OPTIONAL, "If-Match", "The record's `@odata.etag`; needed to replace it.", tags),
        (IF_NONE_MATCH, "If-None-Match", "The tag that is known already: 304 if it holds.", tags),
        (
            IF_NONE,
            "If-None-Match",
            "`*`: there must be no such record yet.",
            {"type": "string", "enum": ["*"]},
        ),
        (PREFER_PAGE, "Prefer", pages, text),
        (PREFER_RETURN, "Prefer", "`return=minimal`: 204 instead of the record.", text),
        (
            MAX_VERSION,
            "OData-MaxVersion",
            "The latest OData that the client reads. With it, operations 7 and 9 are plain OData.",
            {"type": "string", "enum": ["4.0", "4.01"]},
        ),
        (
            ACCESS[0],
            ACCESS[0],
            "`ReadOnly`: a replica may answer, with what it has by now.",
            {"type": "string", "enum": ["ReadOnly", "ReadWrite"]},
        ),
        (
            ACCESS[1],
            ACCESS[1],
            "The one of a write's answer: a replica may answer, once it has that write.",
            {"type": "string", "pattern": _SEEN},
        ),
        (
            REPEATABLE[0],
            REPEATABLE[0],
            "An id of this request; sent again with it, it is done once.",
            {"type": "string", "format": "uuid"},
        ),
        (
            REPEATABLE[1],
            REPEATABLE[1],
            "When the request was sent first (an HTTP date); goes with the id.",
            {"type": "string", "pattern": _DATE},
        ),
    )
