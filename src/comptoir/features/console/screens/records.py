"""The screen Records: every entity set, its records by pages, and a query as curl and as JSON."""

from collections.abc import Iterator

from starlette.responses import Response

from comptoir.auth.records import ConsoleRole
from comptoir.edm.model import EntitySet
from comptoir.errors.refusal import Refusal
from comptoir.features.console.company_records import (
    PREFER,
    SET,
    CompanyRecords,
    Version,
    company_of,
    key_of,
    page_url,
    set_of,
)
from comptoir.features.console.curl import curl
from comptoir.features.console.frame import Answer, Endpoint, Screen, TemplatePage
from comptoir.features.console.record_form import text_of
from comptoir.features.console.record_query import (
    QueryError,
    RecordQuery,
    TableColumn,
    column_choices,
    columns,
    default_columns,
    heading,
    query_error,
    shown_names,
)
from comptoir.features.console.screens import editing, reading
from comptoir.features.console.visit import Visit

LONGEST_CELL = 80
"""Characters of a value that a table shows."""

_OPTIONS = ("$filter", "$search", "$orderby")
"""The options that a user types; the message about one of them is shown with its field."""


async def overview(visit: Visit) -> Answer:
    """Every entity set of the model."""
    sets = [(each, page_url(visit, each)) for each in visit.backend.model.sets]
    return TemplatePage("records.html", "Records", {"sets": sets})


async def browse(visit: Visit) -> Answer:
    """A page of a set's records; an error of the query is shown with what the user typed."""
    entity_set, records = set_of(visit), CompanyRecords(visit)
    query = _query(visit, entity_set)
    path, options = records.path(entity_set), _options(entity_set, query)
    errors: dict[str, QueryError] = {}
    status, records_shown, next_page = 200, list[Version](), ""
    try:
        page = await records.page(entity_set, options)
    except Refusal as refusal:
        status = refusal.error.status
        option = refusal.target if refusal.target in _OPTIONS else ""
        errors[option] = query_error(refusal, _texts(query).get(option, ""))
    else:
        records_shown = page.records
        if page.next_link:
            next_page = page_url(visit, entity_set, query=query.after(page.next_link))
    unsupported = visit.backend.settings.behaviour.queries.unsupported
    context = {
        "entity_set": entity_set,
        "query": query,
        "errors": errors,
        "columns": [
            (each, page_url(visit, entity_set, query=query.sorted_by(each.sorting)))
            for each in columns(entity_set.type, query)
        ],
        "column_choices": column_choices(entity_set.type),
        "company_id": company_of(visit),
        "shown": shown_names(entity_set.type, query),
        "rows": list(_rows(visit, entity_set, query, records_shown)),
        "is_first": not query.skiptoken,
        "first_page": page_url(visit, entity_set, query=query.sorted_by(query.orderby)),
        "next_page": next_page,
        "all_page": page_url(visit, entity_set, query=RecordQuery(columns=query.columns)),
        "searches": "$search" not in unsupported and bool(entity_set.type.searched),
        "creates": not entity_set.read_only and visit.may(ConsoleRole.EDITOR),
        "new_page": page_url(visit, entity_set, "/new"),
        "request": f"{path}?{options}",
        "curl": curl("GET", records.url(path, options), {"Prefer": PREFER}),
        "document": page_url(visit, entity_set, "/json", query=query),
        "done": reading.done(visit),
    }
    return TemplatePage("browse.html", entity_set.name, context, status)


async def document(visit: Visit) -> Answer:
    """The page of a query as JSON, as clients receive it."""
    entity_set = set_of(visit)
    options = _options(entity_set, _query(visit, entity_set))
    content = await CompanyRecords(visit).document(entity_set, options)
    return Response(content, media_type="application/json")


def _query(visit: Visit, entity_set: EntitySet) -> RecordQuery:
    given = visit.query
    chosen = set(given.texts("column"))
    # each once, whatever the address repeats
    names = [each.name for each in column_choices(entity_set.type) if each.name in chosen]
    if {heading(entity_set.type), *names} == set(default_columns(entity_set.type)):
        names = []
    return RecordQuery(
        filter=given.text("filter").strip(),
        search=given.text("search").strip(),
        orderby=given.text("orderby").strip(),
        columns=tuple(names),
        skiptoken=given.text("skiptoken"),
    )


def _texts(query: RecordQuery) -> dict[str, str]:
    return dict(zip(_OPTIONS, (query.filter, query.search, query.orderby), strict=True))


def _options(entity_set: EntitySet, query: RecordQuery) -> str:
    """The options of a query, which always selects the key, to which rows link."""
    names = shown_names(entity_set.type, query)
    key = entity_set.type.key
    return query.options(names if key in names else (*names, key))


def _rows(
    visit: Visit, entity_set: EntitySet, query: RecordQuery, versions: list[Version]
) -> Iterator[tuple[str, str, list[tuple[TableColumn, str]]]]:
    """The records in a table: the address of each, its name, and its other values."""
    by_name = entity_set.type.by_name
    first, *others = columns(entity_set.type, query)
    for version in versions:
        key = key_of(entity_set, version)
        cells = [(each, _short(text_of(by_name[each.name], version.values))) for each in others]
        name = text_of(by_name[first.name], version.values).strip() or key
        yield page_url(visit, entity_set, "/record", key=key), _short(name), cells


def _short(text: str) -> str:
    return text if len(text) <= LONGEST_CELL else f"{text[: LONGEST_CELL - 1]}…"


SCREEN = Screen(
    "Records",
    "/records",
    (
        Endpoint("GET", "", overview),
        Endpoint("GET", f"/{SET}", browse),
        Endpoint("GET", f"/{SET}/json", document),
        *reading.ENDPOINTS,
        *editing.ENDPOINTS,
    ),
    30,
    has_companies=True,
)
