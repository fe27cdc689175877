"""Requests: the last ones of this host, one of them with its checks, and what is kept of them."""

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from urllib.parse import unquote

import msgspec
from starlette.responses import Response

from comptoir.auth.audit import ActName
from comptoir.auth.origins import CONSOLE, needs_credentials
from comptoir.auth.records import Client, ConsoleRole
from comptoir.errors.refusal import Check, Refusal
from comptoir.errors.table import ENTITY_CHANGED
from comptoir.features.console.company_records import CompanyRecords, page_url
from comptoir.features.console.frame import Answer, Endpoint, Redirect, Screen, TemplatePage
from comptoir.features.console.templates import Context
from comptoir.features.console.visit import Visit
from comptoir.features.inspector import errors, exchanges
from comptoir.features.inspector.again import again
from comptoir.features.inspector.inspector import Inspecting, Level
from comptoir.features.inspector.record import ExchangeRecord, Head
from comptoir.http.log import short_path

MOST_SHOWN = 100
"""The most requests that the page lists."""

METHODS = ("GET", "POST", "PATCH", "PUT", "DELETE", "HEAD", "OPTIONS")
STATUSES = ("2xx", "3xx", "4xx", "5xx")
_LONGEST_SHOWN = 200
"""Characters of a path with its query that a row shows."""

_FILTERS = ("method", "status", "client", "check", "text")
"""The fields of the filter of the list, in which a blank is any."""

_PATH = "/requests"
_DURATIONS = {"10 minutes": 600.0, "an hour": 3_600.0, "until the stop": None}
"""The seconds for which a level of recording lasts, by what people call that."""


async def show(visit: Visit) -> Answer:
    """The list, and how much is kept."""
    inspector = visit.backend.feature(Inspecting).inspector
    switch = inspector.switch
    left = None if switch.until is None else max(1, round((switch.until - time.time()) / 60))
    context = {
        "rows": await _rows(visit),
        "filter": {each: visit.query.text(each) for each in _FILTERS},
        "methods": METHODS,
        "statuses": STATUSES,
        "checks": tuple(Check),
        "level": switch.level,
        "left": left,
        "levels": tuple(Level),
        "durations": tuple(_DURATIONS),
        "requests": inspector.requests,
        "skipped": inspector.skipped,
        "workers": visit.backend.settings.workers,
        "list_address": f"{CONSOLE}{_PATH}",
        "most": MOST_SHOWN,
    }
    return TemplatePage("requests.html", "Requests", context)


async def rows(visit: Visit) -> Answer:
    """The rows of the list as JSON, for the live list."""
    return Response(msgspec.json.encode(await _rows(visit)), media_type="application/json")


async def _rows(visit: Visit) -> Sequence[Context]:
    method, status, client, check, text = (visit.query.text(each) for each in _FILTERS)

    def wants(head: Head) -> bool:
        code = str(head.status)
        return (
            method in ("", head.method)
            and status in ("", code, f"{code[0]}xx")
            and client in ("", _party(head, visit))
            and check in ("", head.check)
            and (not text or _has(head, text.lower()))
            and exchanges.is_visible(head, visit.login.companies)
        )

    inspector = visit.backend.feature(Inspecting).inspector
    return [_row(each, visit) for each in await inspector.newest(MOST_SHOWN, wants)]


def _has(head: Head, text: str) -> bool:
    texts = (head.path, unquote(head.path), unquote(head.query), head.by, head.id)
    return any(text in each.lower() for each in texts)


def _row(head: Head, visit: Visit) -> Context:
    party = _party(head, visit)
    asked = short_path(unquote(head.path))
    if head.query:
        asked += f"?{unquote(head.query)}"
    return {
        "id": head.id,
        "address": visit.url(f"{CONSOLE}{_PATH}/{head.id}"),
        "time": time_of_day(head.at),
        "method": head.method,
        "asked": asked if len(asked) <= _LONGEST_SHOWN else f"{asked[:_LONGEST_SHOWN]}…",
        "status": head.status,
        "check": head.check,
        "by": party if party == head.by else f"{party} (refused)",
        "ms": f"{head.ms:.1f}",
    }


def _party(head: Head, visit: Visit) -> str:
    """The client of a request; one that was refused only for users who may see all clients."""
    return head.by or (head.denied if visit.sees_service else "")


def time_of_day(at: float) -> str:
    """The time in UTC, with milliseconds."""
    return f"{time.strftime('%H:%M:%S', time.gmtime(at))}.{int(at % 1 * 1_000):03d}"


async def record(visit: Visit) -> Answer:
    """The recording becomes another one, for some time."""
    level, chosen = visit.form.text("level"), visit.form.text("for")
    if level not in tuple(Level) or chosen not in _DURATIONS:
        raise errors.UNKNOWN_CHOICE()
    detail = f"{level} {chosen}"
    await visit.backend.control.record([visit.act(ActName.INSPECT_CHANGE, "requests", detail)])
    visit.backend.feature(Inspecting).inspector.set(Level(level), _DURATIONS[chosen])
    return Redirect(visit.url(f"{CONSOLE}{_PATH}"))


async def one(visit: Visit) -> Answer:
    """A request: its checks, what was sent and answered, and what to do next."""
    found = await exchanges.found_request(visit)
    settings = visit.backend.settings
    about = await exchanges.requested_record(found, visit)
    client, author = await _client(found, visit), None
    if about is not None:
        records = CompanyRecords(replace(visit, company=about.company))
        author = await records.known_change(about.entity_set, about.key, found.change)
    is_form = needs_credentials(found.path, settings)
    context = {
        "found": found,
        "at": f"{time.strftime('%Y-%m-%d', time.gmtime(found.at))} {time_of_day(found.at)}",
        "asked": short_path(unquote(found.path)),
        "checks": exchanges.check_results(found),
        "sides": (("Request", "request", found.request), ("Response", "response", found.response)),
        "pretty": exchanges.pretty,
        "curl": exchanges.command(found, client, settings),
        "missing_part": "" if is_form else exchanges.missing_part(found),
        "address": ""
        if about is None
        else page_url(visit, about.entity_set, "/record", company=about.company.id, key=about.key),
        "author": author,
        "party": found.by or (client.party if client else _party(found, visit)),
        "client": client,
        "reason": found.reason if visit.sees_service else "",
        "again": visit.url(f"{CONSOLE}{_PATH}/{found.id}/again"),
        "why_not_replayable": exchanges.why_not_replayable(found, visit.backend.routes),
        "tag": about.tag if about is not None and found.status == ENTITY_CHANGED.status else "",
    }
    return TemplatePage("request.html", f"{found.method} {context['asked']}", context)


async def _client(found: ExchangeRecord, visit: Visit) -> Client | None:
    """The client of a request, or the one that its refused credentials name, if it exists."""
    if not visit.sees_service:
        return None
    # the request is shown in any case
    with suppress(Refusal):
        clients = (await visit.backend.control.load()).clients
        party = _party(found, visit)
        if not party and found.token is not None:
            return clients.get(found.token.client)
        return next((each for each in clients.values() if each.party == party), None)
    return None


SCREEN = Screen(
    "Requests",
    _PATH,
    (
        Endpoint("GET", "", show),
        Endpoint("GET", "/rows", rows, is_polled=True),
        Endpoint("POST", "/recording", record, ConsoleRole.ADMIN),
        Endpoint("GET", "/{id}", one),
        Endpoint("GET", "/{id}/again", again),
        Endpoint("POST", "/{id}/again", again),
    ),
    20,
)
