"""The screen Records: every entity set, its records by pages, and a query as curl and as JSON."""

import asyncio

from starlette.responses import Response

from comptoir.auth.records import ConsoleRole
from comptoir.errors.refusal import Refusal
from comptoir.features.console.captions import caption, set_caption
from comptoir.features.console.company_records import (
    LONGEST_BACK,
    PAGE_SIZE,
    PREFER,
    SET,
    CompanyRecords,
    company_of,
    page_url,
    set_of,
)
from comptoir.features.console.curl import curl
from comptoir.features.console.frame import Answer, Endpoint, Screen, TemplatePage
from comptoir.features.console.record_query import (
    QueryError,
    RecordQuery,
    column_choices,
    columns,
    examples,
    heading,
    query_error,
    query_of,
    shown_names,
)
from comptoir.features.console.record_table import table_rows
from comptoir.features.console.screens import editing, reading
from comptoir.features.console.spreadsheet import spreadsheet
from comptoir.features.console.templates import shared_part
from comptoir.features.console.values import TablePage
from comptoir.features.console.visit import Visit, extended, fields_text


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
    address, first, back = page_url(visit, entity_set), query.first(), query.address()
    from_start = first.address()

    def page_of(other: RecordQuery) -> str:
        return extended(address, other.address())

    errors: dict[str, QueryError] = {}
    status, page, next_page, count = 200, TablePage(dict.fromkeys(names, ()), 0), "", ""
    try:
        page, count = await records.table(entity_set, query, names)
    except Refusal as refusal:
        status = refusal.error.status
        # the message about a text that the user has typed is shown with its field
        typed = {"$filter": query.filter, "$search": query.search, "$orderby": query.orderby}
        option = refusal.target if refusal.target in typed else ""
        errors[option] = query_error(refusal, typed.get(option, ""))
    else:
        if page.next_link:
            next_page = page_of(query.after(page.next_link, page.size))
    filled = [
        name
        for number, name in enumerate(names)
        if not number or any(map(str.strip, page.columns[name]))
    ]
    shown_columns = columns(entity_type, tuple(filled), query.orderby)
    unsorted, whole = page_of(query.first(orderby="")), page_of(query.first(filter=""))
    record_page = page_url(
        visit, entity_set, "/record", back=back if len(back) <= LONGEST_BACK else ""
    )
    settings = visit.backend.settings
    unsupported = visit.backend.behaviour.queries.unsupported
    context = {
        "entity_set": entity_set,
        "query": query,
        "errors": errors,
        "columns": shown_columns,
        "head": shared_part("browse_head.html", columns=shown_columns, address=unsorted),
        "left_out": [caption(entity_type.by_name[each]) for each in names if each not in filled],
        "columns_page": page_url(visit, entity_set, "/columns", from_start),
        "company_id": company_of(visit),
        "rows": table_rows(entity_type, shown_columns, page, extended(record_page, "key=")),
        "place": (f"{query.skip + 1:,}", f"{query.skip + page.size:,}"),
        "count": count,
        "examples": [
            (each, extended(whole, fields_text([("filter", each)])))
            for each in examples(entity_type, filled, page)
        ],
        "first_page": extended(address, from_start) if query.skip or query.skiptoken else "",
        "previous_page": page_of(query.before(PAGE_SIZE)) if query.skip else "",
        "next_page": next_page,
        "all_page": page_of(RecordQuery(columns=query.columns)),
        "searches": "$search" not in unsupported and bool(entity_type.searched),
        "creates": not entity_set.read_only and visit.may(ConsoleRole.EDITOR),
        "new_page": page_url(visit, entity_set, "/new"),
        "request": f"{path}?{options}",
        "curl": curl("GET", f"{settings.base_url}{path}?{options}", {"Prefer": PREFER}),
        "document": page_url(visit, entity_set, "/json", back),
        "spreadsheet": page_url(visit, entity_set, "/csv", from_start),
        "done": reading.done(visit),
    }
    return TemplatePage("browse.html", set_caption(entity_set), context, status)


async def choose(visit: Visit) -> Answer:
    """The columns that a list may show, with those that it shows."""
    entity_set = set_of(visit)
    entity_type, query = entity_set.type, query_of(entity_set.type, visit.query)
    names = shown_names(entity_type, query)
    context = {
        "set_page": page_url(visit, entity_set, query=query.address()),
        "entity_set": entity_set,
        "fields": [("company", company_of(visit)), *query.fields],
        "first": caption(entity_type.by_name[heading(entity_type)]),
        "choices": [
            (each.name, caption(each), each.name in names) for each in column_choices(entity_type)
        ],
    }
    return TemplatePage("columns.html", f"Columns of {set_caption(entity_set)}", context)


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


SCREEN = Screen(
    "Records",
    "/records",
    (
        Endpoint("GET", "", overview),
        Endpoint("GET", f"/{SET}", browse),
        Endpoint("GET", f"/{SET}/columns", choose),
        Endpoint("GET", f"/{SET}/json", document),
        Endpoint("GET", f"/{SET}/csv", download),
        *reading.ENDPOINTS,
        *editing.ENDPOINTS,
    ),
    30,
    has_companies=True,
)
