"""The overview: figures of the last minutes, and what the service runs with."""

import math
import re
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from comptoir.auth.records import ConsoleRole
from comptoir.features.console import figures
from comptoir.features.console.figures import MINUTES, Point, quantile
from comptoir.features.console.screens.overview import HEIGHT, MISSING, WIDTH, charts
from support.clients import add_client
from support.console import Browser, logged_in, new_code, origin_of
from support.service import Service, StartService
from support.together import together


def rows(page: str) -> list[list[str]]:
    """The cells of the table with the figures, the latest first."""
    table = page.partition('aria-label="Figures by time"')[2].partition("</table>")[0]
    body = table.partition("<tbody>")[2]
    return [re.findall(r"<t[hd][^>]*>([^<]*)", row) for row in re.findall("<tr>.*</tr>", body)]


def lines(page: str, title: str) -> dict[str, list[list[float]]]:
    """The points of the last line of each curve of a chart."""
    chart = page.partition(f"<h2>{title}")[2].partition("</li>")[0]
    found = re.findall(r'<polyline class="line curve-(\d)" points="([^"]*)"', chart)
    return {
        curve: [[float(each) for each in point.split(",")] for point in points.split()]
        for curve, points in found
    }


def test_the_figures_are_those_since_the_last_sample(
    start_service: StartService, monkeypatch: pytest.MonkeyPatch
) -> None:
    # the service samples its metrics at the start, and not again during the test
    monkeypatch.setattr(figures, "SAMPLE_SECONDS", math.inf)
    service = start_service()
    service.origin.get("metrics")
    service.client.get("companies")
    for _ in range(9):
        assert service.client.get("companies(1)").status_code == 400
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 15)
    service.origin.get("metrics")
    # it begins now, so its use is not noted by a write that would be among the figures
    page = Browser(service, origin_of(service.settings)).log_in(new_code(service.admin)).text
    latest, *_ = rows(page)
    requests, half, most, refused, failed, waiting, lag = map(float, latest[1:])
    assert requests > 0
    assert refused > 0
    assert 0 < half <= most
    # one may be of a job of the service
    assert waiting <= 1
    assert failed == lag == 0
    # time goes to the right, where it is now, and the times of requests have one scale
    drawn = lines(page, "Response time")
    (now_1, p50), (now_2, p95) = drawn["1"][-1], drawn["2"][-1]
    assert now_1 == now_2 == WIDTH
    # beside one very slow request, the others are drawn at the bottom
    assert 0 <= p95 <= p50 <= HEIGHT
    refusals, failures = lines(page, "Errors").values()
    assert refusals[-1][1] < failures[-1][1] == HEIGHT
    (requests_drawn,) = lines(page, "Requests").values()
    assert requests_drawn[-1][1] < HEIGHT


def test_a_curve_breaks_where_a_number_is_missing() -> None:
    numbers = [None, 1.0, None, 4.0, 2.0]
    points = [
        Point(MINUTES * 15 * at, 0, number, number, 0, 0, 0, 0) for at, number in enumerate(numbers)
    ]
    [times] = [each for each in charts(points) if each.unit == "ms"]
    # a number alone is a dot
    assert times.curves[0].lines == ["75.0,45.0 75.0,45.0", "225.0,0.0 300.0,30.0"]
    assert (times.most, times.curves[0].texts[-1]) == ("4.0", "2.0")
    [without] = [each for each in charts(points[:1]) if each.unit == "ms"]
    assert without.most == MISSING


@together(
    ("counts", "part", "expected"),
    [
        ((0, 0, 0), 0.5, None),
        ((10, 10, 10), 0.5, 0.5),
        ((0, 10, 10), 0.5, 1.5),
        ((5, 10, 10), 0.95, 1.9),
        ((0, 0, 10), 0.5, 2.0),
    ],
)
def test_quantiles(counts: tuple[int, ...], part: float, expected: float | None) -> None:
    bounds = (1.0, 2.0, float("inf"))
    found = quantile(list(zip(bounds, counts, strict=True)), part)
    assert found == (expected if expected is None else pytest.approx(expected))


def test_what_the_service_runs_with(own_service: Service, tmp_path: Path) -> None:
    service, viewer = own_service, logged_in(own_service, ConsoleRole.VIEWER)
    page = viewer.get("/console").text
    assert service.settings.base_url in page
    assert "<dd>ready</dd>" in page
    password = urlsplit(service.settings.database).password
    assert password is None or password not in page
    webshop = add_client(service, tmp_path)
    viewed = viewer.get("/console").text
    assert webshop.name in viewed
    assert f"secret {webshop.secret[:4]}" in viewed
    assert webshop.secret not in viewed
    limited = logged_in(service, companies=frozenset([service.new_company().id]))
    assert webshop.name not in limited.get("/console").text
