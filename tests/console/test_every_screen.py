"""Every screen by HTTP alone: who sees it, and how many bytes its files have."""

import gzip
import re
from pathlib import Path

import comptoir.features.console
from comptoir.auth.records import ConsoleRole
from support.companies import Company
from support.console import Browser, forms_of, logged_in, new_code
from support.databases import ON_SQLITE
from support.screens import SCREENS, Shown
from support.service import Service
from support.together import check_all

ROOT = Path(comptoir.features.console.__file__).parent
SET = "unitsOfMeasureExt"
LOG_OUT = "/console/sessions/log-out"
BUDGET = 16 * 1024
"""The most bytes of the stylesheet and all scripts together, when each is compressed."""

NEVER = re.compile(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function")
INLINE = re.compile(r"\sstyle=|<style|\son[a-z]+=|<script(?![^>]*\ssrc=)|javascript:|\|\s*safe\b")


@ON_SQLITE  # another test opens each screen on both databases
def test_who_sees_a_screen(service: Service, stocked: Company, stranger: Browser) -> None:
    browsers = {role: logged_in(service, role) for role in ConsoleRole}
    guessing = stranger.another()
    guessing.cookies[stranger.session_cookie] = "guessed"

    def check(screen: Shown) -> None:
        path = screen.path.format(company=stocked.id)
        for nobody in (stranger, guessing):
            assert nobody.get(path).headers["location"] == "/console/login"
        for role, browser in browsers.items():
            answer = browser.get(path)
            assert answer.status_code == (200 if role.rank >= screen.role.rank else 403), role
            assert answer.headers["content-type"] == "text/html; charset=utf-8"
            assert answer.text.count("<h1>") == 1

    check_all(SCREENS, check)


@ON_SQLITE
def test_the_navigation_has_what_the_user_may_see(service: Service) -> None:
    paths = {each.path.partition("?")[0]: each.role for each in SCREENS}
    for role in ConsoleRole:
        page = logged_in(service, role).get("/console").text
        links = re.findall(r'<li><a href="(/console[^"?]*)', page)
        assert links
        assert all(paths[each].rank <= role.rank for each in links)


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
    """And every form about records keeps the chosen one."""
    for screen in SCREENS:
        path = screen.path.partition("?")[0]
        asks = path == "/console" or path.startswith(("/console/records", "/console/changes"))
        page = admin.get(screen.path.format(company=stocked.id))
        assert page.status_code == 200, screen.path
        assert ('<select id="company"' in page.text) == asks, screen.path
        assert f'href="/console/records?company={stocked.id}"' in page.text, screen.path
        posted = [each.action for each in forms_of(page) if each.method == "POST"]
        for action in posted if "/records" in path else ():
            assert f"company={stocked.id}" in action or action == LOG_OUT, screen.path


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
