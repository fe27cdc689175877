"""The screen Records: every entity set, its records by pages, and a query as curl and as JSON."""

import asyncio

from starlette.responses import Response

from comptoir.auth.records import ConsoleRole
from comptoir.edm.model import EntitySet
from comptoir.errors.refusal import Refusal
from comptoir.features.console.captions import caption, set_caption
from comptoir.features.console.company_records import (
    BACK,
    LONGEST_BACK,
    PAGE_SIZE,
    PREFER,
    SET,
    CompanyRecords,
    Version,
    company_of,
    page_url,
    set_of,
)
from comptoir.features.console.curl import curl
from comptoir.features.console.frame import Answer, Endpoint, Screen, TemplatePage
from comptoir.features.console.record_form import text_of
from comptoir.features.console.record_query import (
    QueryError,
    RecordQuery,
    column_choices,
    columns,
    examples,
    query_error,
    query_of,
    shown_names,
)
from comptoir.features.console.record_table import table_rows
from comptoir.features.console.screens import editing, reading
from comptoir.features.console.spreadsheet import spreadsheet
from comptoir.features.console.visit import Visit

_OPTIONS = ("$filter", "$search", "$orderby")
"""The options that a user types; the message about one of them is shown with its field."""


async def overview(visit: Visit) -> Answer:
    """Every entity set of the model, with the number of its records if that is known soon."""
    records, listed = CompanyRecords(visit), visit.backend.model.sets
    counts = await asyncio.gather(*[records.count(each, RecordQuery()) for each in listed])
    sets = [
        (each, set_caption(each), page_url(visit, each), count)
        for each, count in zip(listed, counts, strict=True)
    ]
    return TemplatePage("records.html", "Records", {"sets": sorted(sets, key=lambda each: each[1])})


async def browse(visit: Visit) -> Answer:
    """A page of a set's records; an error of the query is shown with what the user typed."""
    entity_set, records = set_of(visit), CompanyRecords(visit)
    entity_type, query = entity_set.type, query_of(entity_set.type, visit.query)
    path, names = records.path(entity_set), shown_names(entity_set.type, query)
    options = query.options(entity_type, names)
    address = page_url(visit, entity_set)
    sign = "&" if "?" in address else "?"

    def page_of(other: RecordQuery) -> str:
        more = other.address()
        return f"{address}{sign}{more}" if more else address

    errors: dict[str, QueryError] = {}
    status, versions, next_page, count = 200, list[Version](), "", ""
    try:
        page = await records.page(entity_set, options)
    except Refusal as refusal:
        status = refusal.error.status
        option = refusal.target if refusal.target in _OPTIONS else ""
        errors[option] = query_error(refusal, _texts(query).get(option, ""))
    else:
        versions = page.records
        if page.next_link:
            following = query.after(page.next_link, len(versions))
            next_page = page_of(following)
            count = await records.count(entity_set, query.first())
        else:
            count = f"{query.skip + len(versions):,}"
    values = [each.values for each in versions]
    filled = [
        name
        for number, name in enumerate(names)
        if not number or any(text_of(entity_type.by_name[name], each).strip() for each in values)
    ]
    shown_columns = list(columns(entity_type, filled, query.orderby))
    unsupported = visit.backend.settings.behaviour.queries.unsupported
    context = {
        "entity_set": entity_set,
        "query": query,
        "errors": errors,
        "columns": [(each, page_of(query.first(orderby=each.sorting))) for each in shown_columns],
        "left_out": [caption(entity_type.by_name[each]) for each in names if each not in filled],
        "column_choices": [(each, caption(each)) for each in column_choices(entity_type)],
        "company_id": company_of(visit),
        "shown": names,
        "rows": table_rows(
            entity_type, shown_columns, values, _record_page(visit, entity_set, query)
        ),
        "place": (f"{query.skip + 1:,}", f"{query.skip + len(versions):,}"),
        "count": count,
        "examples": [
            (each, page_of(query.first(filter=each)))
            for each in examples(entity_type, filled, values)
        ],
        "first_page": page_of(query.first()) if query.skip or query.skiptoken else "",
        "previous_page": page_of(query.before(PAGE_SIZE)) if query.skip else "",
        "next_page": next_page,
        "all_page": page_of(RecordQuery(columns=query.columns)),
        "searches": "$search" not in unsupported and bool(entity_type.searched),
        "creates": not entity_set.read_only and visit.may(ConsoleRole.EDITOR),
        "new_page": page_url(visit, entity_set, "/new"),
        "request": f"{path}?{options}",
        "curl": curl("GET", records.url(path, options), {"Prefer": PREFER}),
        "document": page_url(visit, entity_set, "/json", query=query),
        "spreadsheet": page_url(visit, entity_set, "/csv", query=query.first()),
        "done": reading.done(visit),
    }
    return TemplatePage("browse.html", set_caption(entity_set), context, status)


async def document(visit: Visit) -> Answer:
    """The page of a query as JSON, as clients receive it."""
    entity_set = set_of(visit)
    query = query_of(entity_set.type, visit.query)
    options = query.options(entity_set.type, shown_names(entity_set.type, query))
    content = await CompanyRecords(visit).document(entity_set, options)
    return Response(content, media_type="application/json")


async def download(visit: Visit) -> Answer:
    """All records of a query as CSV."""
    entity_set = set_of(visit)
    query = query_of(entity_set.type, visit.query).first()
    return await spreadsheet(CompanyRecords(visit), entity_set, query)


def _texts(query: RecordQuery) -> dict[str, str]:
    return dict(zip(_OPTIONS, (query.filter, query.search, query.orderby), strict=True))


def _record_page(visit: Visit, entity_set: EntitySet, query: RecordQuery) -> str:
    """The URL of the page of a record without its key, and with what leads back to the list."""
    back = query.address()
    fields = {BACK: back} if 0 < len(back) <= LONGEST_BACK else {}
    address = page_url(visit, entity_set, "/record", None, **fields)
    return f"{address}{'&' if '?' in address else '?'}key="


SCREEN = Screen(
    "Records",
    "/records",
    (
        Endpoint("GET", "", overview),
        Endpoint("GET", f"/{SET}", browse),
        Endpoint("GET", f"/{SET}/json", document),
        Endpoint("GET", f"/{SET}/csv", download),
        *reading.ENDPOINTS,
        *editing.ENDPOINTS,
    ),
    30,
    has_companies=True,
)
