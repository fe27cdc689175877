"""Every screen by HTTP alone: who sees it, and how many bytes its files have."""

import re
from pathlib import Path

import pytest

import comptoir.console
from comptoir.auth.logins import ConsoleRole
from console.conftest import LoggedIn
from support.companies import Company
from support.console import Browser, forms_of
from support.screens import SCREENS, Shown

ROOT = Path(comptoir.console.__file__).parent
BUDGET = 24 * 1024
"""The most bytes of all stylesheets, and of all scripts."""

NEVER = re.compile(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function")
INLINE = re.compile(r"\sstyle=|<style|\son[a-z]+=|<script(?![^>]*\ssrc=)|javascript:|\|\s*safe\b")


@pytest.mark.parametrize("screen", SCREENS, ids=lambda each: each.path.partition("?")[0])
def test_who_sees_a_screen(
    stocked: Company, stranger: Browser, logged_in: LoggedIn, screen: Shown
) -> None:
    path = screen.path.format(company=stocked.id)
    assert stranger.get(path).headers["location"] == "/console/login"
    for role in ConsoleRole:
        answer = logged_in(role).get(path)
        assert answer.status_code == (200 if role.rank >= screen.role.rank else 403), role
        assert answer.headers["content-type"] == "text/html; charset=utf-8"
        assert answer.text.count("<h1>") == 1


def test_the_navigation_has_what_the_user_may_see(logged_in: LoggedIn) -> None:
    paths = {each.path.partition("?")[0]: each.role for each in SCREENS}
    for role in ConsoleRole:
        page = logged_in(role).get("/console").text
        links = re.findall(r'<li><a href="(/console[^"?]*)', page)
        assert links
        assert all(paths[each].rank <= role.rank for each in links)


def test_every_form_keeps_the_chosen_company(stocked: Company, admin: Browser) -> None:
    for screen in SCREENS:
        page = admin.get(screen.path.format(company=stocked.id))
        for form in forms_of(page):
            if form.method == "POST" and form.action != "/console/sessions/log-out":
                assert f"company={stocked.id}" in form.action, screen.path


@pytest.mark.parametrize("kind", ["css", "js"])
def test_the_files_are_small(kind: str) -> None:
    assert sum(path.stat().st_size for path in ROOT.glob(f"static/*.{kind}")) <= BUDGET


def test_no_file_needs_another_policy() -> None:
    for path in ROOT.glob("static/*.js"):
        assert NEVER.search(path.read_text("utf-8")) is None, path.name
    for path in ROOT.glob("pages/*.html"):
        assert INLINE.search(path.read_text("utf-8")) is None, path.name
