"""How much is kept of requests, for how long, and how that is switched."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from comptoir.features.inspector.inspector import Inspector, Level
from comptoir.features.inspector.record import ExchangeRecord
from comptoir.features.inspector.segments import FOLDER, private_folder
from comptoir.http.redaction import MASK, Redactor
from conftest import stock
from support.console import Browser, logged_in
from support.databases import FreshDatabase
from support.event_loop import in_event_loop
from support.samples import CONTACT
from support.service import Service, StartService
from support.settings import settings_of
from support.waiting import until

ADDRESS = f"contactsExt({CONTACT})"
RECORDS = msgspec.json.Decoder(ExchangeRecord)


@pytest.fixture(scope="session")
def fresh_database(fresh_sqlite: FreshDatabase) -> FreshDatabase:
    """What is kept does not depend on the database."""
    return fresh_sqlite


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of what is kept."""
    with private_folder() as records:
        monkeypatch.setenv(FOLDER, str(records))
        yield records


def records_in(folder: Path) -> list[ExchangeRecord]:
    lines = [line for path in folder.glob("*.segment") for line in path.read_bytes().splitlines()]
    return sorted(map(RECORDS.decode, lines), key=lambda each: each.at)


def looked_at(browser: Browser) -> int:
    """The number of requests in the list, after everything was written."""
    return len(browser.get("/console/requests/rows").json())


def test_the_last_requests_are_kept(start_service: StartService, folder: Path) -> None:
    service = start_service(inspect="heads", inspect_requests=5)
    company, browser = stock(service.new_company()), logged_in(service)
    for number in range(23):
        company.get(ADDRESS, f"n={number}")
        if number % 4 == 0:
            looked_at(browser)
    count = looked_at(browser)
    kept = [each.query for each in records_in(folder)]

    assert 5 <= count <= 10
    assert kept == [f"n={number}" for number in range(23 - len(kept), 23)]


def test_all_together_is_limited(start_service: StartService, folder: Path) -> None:
    service = start_service(inspect="bodies", inspect_bytes=20_000)
    company, browser = stock(service.new_company()), logged_in(service)
    for _ in range(50):
        company.get(ADDRESS)
        looked_at(browser)
    sizes = [path.stat().st_size for path in folder.glob("*.segment")]

    assert len(sizes) == 2
    assert sum(sizes) <= 20_000


@pytest.mark.parametrize("limit", [1, 500, 1_050, 1_080, 1_100])
def test_a_body_is_cut_after_its_secrets_were_removed(
    start_service: StartService, folder: Path, limit: int
) -> None:
    service = start_service(inspect="bodies", inspect_body_bytes=limit)
    company = stock(service.new_company())
    body = {"displayName": "x" * 30, "onlinePassword": "Canary" * 9, "city": "Ulm"}
    company.patch(ADDRESS, body, if_match="*")
    looked_at(logged_in(service))
    (record,) = records_in(folder)

    for side in (record.request, record.response):
        assert side.body.text is not None
        assert len(side.body.text.encode()) <= limit
        assert "Canary"[:3] not in side.body.text
    assert record.response.body.is_cut == (record.response.body.length > limit)
    assert limit < 1_000 or MASK in str(record.request.body.text)


def test_what_comes_too_fast_is_left_out(start_service: StartService, folder: Path) -> None:
    service = start_service(inspect="bodies", inspect_requests=3)
    company, browser = stock(service.new_company()), logged_in(service)
    assert "too fast" not in browser.get("/console/requests").text

    def said() -> bool | None:
        for _ in range(2):
            company.carrier.send_all([company.build("GET", ADDRESS) for _ in range(40)])
        page = browser.get("/console/requests").text
        return "requests to this worker came too fast to be kept." in page or None

    until(said, "requests that come too fast")


def test_requests_do_not_need_the_folder(start_service: StartService, folder: Path) -> None:
    """A cleaner of temporary files may remove it."""
    service = start_service(inspect="heads", inspect_requests=2)
    company, browser = stock(service.new_company()), logged_in(service)
    company.get(ADDRESS)
    assert looked_at(browser) == 1
    shutil.rmtree(folder)
    for _ in range(5):
        assert company.get(ADDRESS).status_code == 200
        assert looked_at(browser) == 0


def test_probes_are_not_kept(start_service: StartService, folder: Path) -> None:
    service = start_service(inspect="bodies")
    for path in ("healthz", "readyz", "metrics"):
        assert service.origin.get(path).is_success
    assert looked_at(logged_in(service)) == 0


@in_event_loop
async def test_a_switch_ends_by_itself(folder: Path) -> None:
    now = 1_000.0
    inspector = Inspector(settings_of(inspect="heads"), Redactor(()), folder, [], lambda: now)
    other = Inspector(settings_of(inspect="heads"), Redactor(()), folder, [], lambda: now)
    inspector.set(Level.OFF, 600)
    levels = [inspector.switch.level, other.switch.level]
    now += 599
    levels.append(other.switch.level)
    now += 1
    levels.append(inspector.switch.level)
    assert levels == [Level.OFF, Level.OFF, Level.OFF, Level.HEADS]
    inspector.set(Level.BODIES, None)
    now += 10**9
    assert other.switch.level is Level.BODIES


def test_the_stop_removes_everything(
    fresh_database: FreshDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    with Service(fresh_database, tmp_path, inspect="bodies") as service:
        stock(service.new_company()).get(ADDRESS)
        assert looked_at(logged_in(service)) == 1
        (folder,) = tmp_path.glob("comptoir-inspector-*")
        assert folder.stat().st_mode & 0o777 == 0o700
        assert all(each.stat().st_mode & 0o77 == 0 for each in folder.glob("*.segment"))
    assert not folder.exists()
