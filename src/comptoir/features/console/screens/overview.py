"""Overview: the figures of the last minutes, and what the service runs with."""

import asyncio
import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple
from urllib.parse import quote

from comptoir.errors.messages import time_text
from comptoir.errors.refusal import Refusal
from comptoir.features.console.backend import QUICK_SECONDS, Backend
from comptoir.features.console.figures import MINUTES, Point
from comptoir.features.console.frame import Answer, Endpoint, Screen, TemplatePage
from comptoir.features.console.visit import Visit
from comptoir.http.routes import api_addresses
from comptoir.store.schema import HEAD
from comptoir.store.urls import redacted

WIDTH = 300
HEIGHT = 60
"""The box of a chart, in the units of its SVG."""

MISSING = "–"  # noqa: RUF001 - a dash, as in the tables
"""The text of a number that is missing."""

Numbers = Sequence[float | None]


class Curve(NamedTuple):
    """A figure over time: its name in the chart, blank for the only one, and its numbers as text.

    `lines` has the points of each part of the curve, which breaks where a number is missing.
    """

    name: str
    texts: Sequence[str]
    lines: Sequence[str]


class Chart(NamedTuple):
    """Curves with one scale, in a box of `WIDTH` by `HEIGHT`; the highest point is at `most`."""

    title: str
    unit: str
    most: str
    curves: Sequence[Curve]


_CHARTS: Sequence[tuple[str, str, str, Mapping[str, str]]] = (
    ("Requests", "a second", ".1f", {"": "requests"}),
    ("Response time", "ms", ".1f", {"p50": "p50", "p95": "p95"}),
    ("Errors", "a second", ".2f", {"4xx": "refused", "5xx": "failed"}),
    ("Waiting writes", "", ".0f", {"": "waiting_writes"}),
    ("Late notifications", "s", ".0f", {"": "notification_lag"}),
)
"""The title, the unit and the form of the numbers of each chart, and the members of its curves."""


def charts(points: Sequence[Point]) -> Sequence[Chart]:
    """The charts of the points, which end now."""
    places = [max(0.0, 1 - (points[-1].at - each.at) / (MINUTES * 60)) for each in points]
    drawn: list[Chart] = []
    for title, unit, form, members in _CHARTS:
        figures = {name: [getattr(each, of) for each in points] for name, of in members.items()}
        known = [each for numbers in figures.values() for each in numbers if each is not None]
        most = max(known, default=None)
        curves = [
            Curve(name, [_text(each, form) for each in numbers], _lines(numbers, places, most or 0))
            for name, numbers in figures.items()
        ]
        drawn.append(Chart(title, unit, _text(most, form), curves))
    return drawn


def _text(number: float | None, form: str) -> str:
    return MISSING if number is None else format(number, form)


def _lines(numbers: Numbers, places: Sequence[float], most: float) -> Sequence[str]:
    parts: list[list[str]] = [[]]
    for number, place in zip(numbers, places, strict=True):
        if number is None:
            parts.append([])
            continue
        height = HEIGHT * (number / most) if most else 0.0
        parts[-1].append(f"{place * WIDTH:.1f},{HEIGHT - height:.1f}")
    # a line with one point is not drawn, and one with two equal points is a dot
    return [" ".join(each if len(each) > 1 else each * 2) for each in parts if each]


class End(NamedTuple):
    """The end of a secret or a key of a client, in epoch seconds."""

    at: int
    client: str
    what: str


MOST_ENDS = 10
"""The most ends of secrets and keys that are listed."""


async def show(visit: Visit) -> Answer:
    """Charts of the last minutes with their numbers, and facts."""
    points = visit.backend.figures.points()
    drawn = charts(points)
    texts = zip(*(curve.texts for chart in drawn for curve in chart.curves), strict=True)
    rows = list(zip([point.at for point in points], texts, strict=True))
    context = {
        "minutes": MINUTES,
        "charts": drawn,
        "width": WIDTH,
        "height": HEIGHT,
        "rows": rows[::-1],
        "addresses": api_addresses(visit.backend.settings),
        "company_paths": _company_paths(visit),
        "facts": await _facts(visit),
        "ends": await _ends(visit),
    }
    return TemplatePage("overview.html", "Overview", context)


def _company_paths(visit: Visit) -> Sequence[str]:
    """The paths of the chosen company after an address of the API."""
    company = visit.company
    if company is None:
        return []
    paths = [f"/companies({company.id})"]
    if visit.backend.routes.company_headers:
        name = quote(company.name.replace("'", "''"), safe="'")
        paths.append(f"/Company('{name}')")
    return paths


async def _facts(visit: Visit) -> Mapping[str, str]:
    """The facts of how the service runs, by their names."""
    settings, changes_at = visit.backend.settings, visit.backend.keys.ring.changes_at
    standby = settings.read_database
    return {
        "Database": redacted(settings.database),
        **({"Standby for reads": redacted(standby)} if standby else {}),
        "State": await _state(visit.backend),
        "Schema revision": HEAD,
        "Workers": str(settings.workers),
        "Next change of the signing keys": "none is planned"
        if math.isinf(changes_at)
        else time_text(changes_at),
    }


async def _ends(visit: Visit) -> Sequence[End] | None:
    """The secrets and keys of clients that end next; None if the user may not see them."""
    if not visit.sees_service:
        return None
    try:
        async with asyncio.timeout(QUICK_SECONDS):
            known = await visit.backend.control.load()
    except (Refusal, TimeoutError):
        return None
    ends: list[End] = []
    for client in known.clients.values():
        ends += [
            End(each.expires_at, client.name, f"secret {each.hint}…") for each in client.secrets
        ]
        ends += [End(each.expires_at, client.name, f"key {each.kid}") for each in client.keys]
    return sorted(ends)[:MOST_ENDS]


async def _state(backend: Backend) -> str:
    try:
        async with asyncio.timeout(QUICK_SECONDS):
            await backend.store.check()
    except Refusal as refusal:
        return refusal.message
    except TimeoutError:
        return "The database does not answer."
    warnings = backend.store.condition.warnings()
    return "; ".join(warnings) or "ready"


SCREEN = Screen("Overview", "", (Endpoint("GET", "", show),), 10, has_companies=True)
