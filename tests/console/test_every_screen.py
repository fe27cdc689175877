"""Every screen by HTTP alone: who sees it, and how many bytes its files have."""

import gzip
import re
from pathlib import Path

import comptoir.features.console
from comptoir.auth.records import ConsoleRole
from console.conftest import LoggedIn
from support.companies import Company
from support.console import Browser, forms_of, new_code
from support.databases import ON_SQLITE
from support.screens import SCREENS, Shown
from support.service import Service
from support.together import check_all

ROOT = Path(comptoir.features.console.__file__).parent
SET = "unitsOfMeasureExt"
BUDGET = 16 * 1024
"""The most bytes of the stylesheet and all scripts together, when each is compressed."""

NEVER = re.compile(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function")
INLINE = re.compile(r"\sstyle=|<style|\son[a-z]+=|<script(?![^>]*\ssrc=)|javascript:|\|\s*safe\b")


@ON_SQLITE  # another test opens each screen on both databases
def test_who_sees_a_screen(stocked: Company, stranger: Browser, logged_in: LoggedIn) -> None:
    browsers = {role: logged_in(role) for role in ConsoleRole}

    def check(screen: Shown) -> None:
        path = screen.path.format(company=stocked.id)
        assert stranger.get(path).headers["location"] == "/console/login"
        for role, browser in browsers.items():
            answer = browser.get(path)
            assert answer.status_code == (200 if role.rank >= screen.role.rank else 403), role
            assert answer.headers["content-type"] == "text/html; charset=utf-8"
            assert answer.text.count("<h1>") == 1

    check_all(SCREENS, check)


@ON_SQLITE
def test_the_navigation_has_what_the_user_may_see(logged_in: LoggedIn) -> None:
    paths = {each.path.partition("?")[0]: each.role for each in SCREENS}
    for role in ConsoleRole:
        page = logged_in(role).get("/console").text
        links = re.findall(r'<li><a href="(/console[^"?]*)', page)
        assert links
        assert all(paths[each].rank <= role.rank for each in links)


def test_every_form_about_records_keeps_the_chosen_company(
    stocked: Company, admin: Browser
) -> None:
    for screen in SCREENS:
        if "/records" not in screen.path:
            continue
        page = admin.get(screen.path.format(company=stocked.id))
        for form in forms_of(page):
            if form.method == "POST" and form.action != "/console/sessions/log-out":
                assert f"company={stocked.id}" in form.action, screen.path


def test_the_files_are_small() -> None:
    files = [each for each in ROOT.glob("static/*") if each.suffix in (".css", ".js")]
    assert len(files) > 1
    assert sum(len(gzip.compress(each.read_bytes())) for each in files) <= BUDGET


def test_no_file_needs_another_policy() -> None:
    for path in ROOT.glob("static/*.js"):
        assert NEVER.search(path.read_text("utf-8")) is None, path.name
    for path in ROOT.glob("pages/*.html"):
        assert INLINE.search(path.read_text("utf-8")) is None, path.name


def test_screens_with_companies_ask_for_one(stocked: Company, admin: Browser) -> None:
    for screen in SCREENS:
        path = screen.path.partition("?")[0]
        asks = path == "/console" or path.startswith(("/console/records", "/console/changes"))
        page = admin.get(screen.path.format(company=stocked.id))
        assert page.status_code == 200, screen.path
        assert ('<select id="company"' in page.text) == asks, screen.path
        assert f'href="/console/records?company={stocked.id}"' in page.text, screen.path


@ON_SQLITE
def test_an_unknown_company_is_not_replaced_by_another(stocked: Company, admin: Browser) -> None:
    form = forms_of(admin.get(f"/console/records/{SET}/new?company={stocked.id}"))[-1]
    fields, before = {**dict(form.fields), "field.code": "NEW"}, stocked.changes()
    for given in ("deadbeef-dead-4eef-8ead-deadbeefdead", "x", "", "%27"):
        for screen in SCREENS:
            page = admin.get(screen.path.replace("{company}", given))
            assert page.status_code == 404, screen.path
            assert "?company=" in page.text
        answer = admin.post(f"/console/records/{SET}/new?company={given}", fields)
        assert answer.status_code == 404
    assert stocked.changes() == before


def test_the_company_that_was_open_is_open_after_the_next_login(
    service: Service, stranger: Browser
) -> None:
    first, last = (service.new_company(name) for name in ("AAA first", "ZZZ last"))
    stranger.log_in(new_code(service.admin))
    stranger.get(f"/console/records?company={last.id}")
    stranger.log_in(new_code(service.admin))
    assert f'value="{last.id}" selected' in stranger.get("/console").text
    some = frozenset({first.id})
    stranger.log_in(new_code(service.admin, ConsoleRole.VIEWER, "ben", some))
    page = stranger.get("/console").text
    assert f'value="{first.id}" selected' in page
    assert last.id not in page
