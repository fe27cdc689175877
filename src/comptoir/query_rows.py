"""The refusals of paths and query options, which do not follow OData or are not supported."""

from comptoir.errors import INVALID_URL, NOT_IMPLEMENTED

NOT_SUPPORTED = NOT_IMPLEMENTED.row("{construct} is not supported", "Send the request without it.")
NOT_APPLICABLE = INVALID_URL.row("{option} does not apply to {resource}", "Remove it.")
DEFINITIONS_FILTER = NOT_IMPLEMENTED.row(
    "This filter of entityDefinitions is not supported",
    "Send for example `$filter=entityName eq 'contact'`.",
    group="UNSUPPORTED_FILTER",
)
EXPAND_AGGREGATED = NOT_IMPLEMENTED.row(
    "$expand of an aggregated result is not supported",
    "Group by properties of the related record, as groupby((company/number)).",
)
EXPAND_WRITTEN = NOT_IMPLEMENTED.row(
    "$expand in {action} is not supported", "Read the record with $expand afterwards."
)
