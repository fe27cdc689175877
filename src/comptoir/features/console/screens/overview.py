"""Overview: the figures of the last minutes, and what the service runs with."""

import asyncio
import math
from collections.abc import Callable, Mapping, Sequence
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

    @property
    def last(self) -> str:
        """The last number."""
        return self.texts[-1] if self.texts else MISSING


class Chart(NamedTuple):
    """Curves with one scale, in a box of `WIDTH` by `HEIGHT`; the highest point is at `most`."""

    title: str
    unit: str
    most: str
    curves: Sequence[Curve]

    @classmethod
    def of(
        cls,
        title: str,
        unit: str,
        form: str,
        figures: Mapping[str, Numbers],
        places: Sequence[float],
    ) -> "Chart":
        """The chart of figures by their names, whose numbers have a form such as `.1f`.

        `places` are those of the numbers in time, from 0 at the left to 1.
        """
        known = [each for numbers in figures.values() for each in numbers if each is not None]
        most = max(known, default=0.0)
        curves = [
            Curve(name, [_text(each, form) for each in numbers], _lines(numbers, places, most))
            for name, numbers in figures.items()
        ]
        return cls(title, unit, _text(most if known else None, form), curves)


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


class _Figures(NamedTuple):
    """Figures of the points that a chart compares, by name, with their unit and their form."""

    title: str
    unit: str
    form: str
    values: Mapping[str, Callable[[Point], float | None]]


_CHARTS = (
    _Figures("Requests", "a second", ".1f", {"": lambda point: point.requests}),
    _Figures(
        "Response time",
        "ms",
        ".1f",
        {
            "p50": lambda point: _milliseconds(point.p50),
            "p95": lambda point: _milliseconds(point.p95),
        },
    ),
    _Figures(
        "Errors",
        "a second",
        ".2f",
        {"4xx": lambda point: point.refused, "5xx": lambda point: point.failed},
    ),
    _Figures("Waiting writes", "", ".0f", {"": lambda point: point.waiting_writes}),
    _Figures("Late notifications", "s", ".0f", {"": lambda point: point.notification_lag}),
)


def _milliseconds(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * 1_000


def _chart(figures: _Figures, points: Sequence[Point]) -> Chart:
    ages = [points[-1].at - each.at for each in points]
    places = [max(0.0, 1 - each / (MINUTES * 60)) for each in ages]
    numbers = {name: [value(each) for each in points] for name, value in figures.values.items()}
    return Chart.of(figures.title, figures.unit, figures.form, numbers, places)


class Fact(NamedTuple):
    """A line about the service."""

    name: str
    value: str


class End(NamedTuple):
    """The end of a secret or a key of a client, in epoch seconds."""

    at: int
    client: str
    what: str


MOST_ENDS = 10
"""The most ends of secrets and keys that are listed."""


async def show(visit: Visit) -> Answer:
    """Charts of the last minutes with their numbers, and facts."""
    backend = visit.backend
    points = backend.figures.points()
    charts = [_chart(each, points) for each in _CHARTS]
    texts = zip(*(curve.texts for chart in charts for curve in chart.curves), strict=True)
    rows = list(zip([point.at for point in points], texts, strict=True))
    context = {
        "minutes": MINUTES,
        "charts": charts,
        "width": WIDTH,
        "height": HEIGHT,
        "rows": rows[::-1],
        "addresses": api_addresses(backend.settings),
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


async def _facts(visit: Visit) -> Sequence[Fact]:
    settings = visit.backend.settings
    facts = [
        Fact("Database", redacted(settings.database)),
        Fact("State", await _state(visit.backend)),
        Fact("Schema revision", HEAD),
        Fact("Workers", str(settings.workers)),
        Fact("Next change of the signing keys", _change(visit.backend.keys.ring.changes_at)),
    ]
    if settings.read_database:
        facts.insert(1, Fact("Standby for reads", redacted(settings.read_database)))
    return facts


async def _ends(visit: Visit) -> Sequence[End] | None:
    """The secrets and keys of clients that end next; None if the user may not see them."""
    if not visit.sees_service:
        return None
    try:
        async with asyncio.timeout(QUICK_SECONDS):
            known = await visit.backend.control.load()
    except (Refusal, TimeoutError):
        return None
    clients = known.clients.values()
    secrets = [
        End(each.expires_at, client.name, f"secret {each.hint}…")
        for client in clients
        for each in client.secrets
    ]
    keys = [
        End(each.expires_at, client.name, f"key {each.kid}")
        for client in clients
        for each in client.keys
    ]
    return sorted(secrets + keys)[:MOST_ENDS]


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


def _change(at: float) -> str:
    return "none is planned" if math.isinf(at) else time_text(at)


SCREEN = Screen("Overview", "", (Endpoint("GET", "", show),), 10, has_companies=True)
