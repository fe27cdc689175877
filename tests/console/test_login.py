"""Codes, sessions, and their ends."""

import time

import pytest

from comptoir.auth.records import ConsoleRole
from comptoir.features.console import ConsoleSettings
from comptoir.features.console.logins import CODE_SECONDS, Logins
from support.companies import Company
from support.console import Browser, audited, forms_of, logged_in, new_code
from support.databases import run_sql
from support.service import Service, StartService
from support.together import together


def attempt(browser: Browser, code: str) -> int:
    return browser.post("/console/login", {"code": code}).status_code


def test_a_code_begins_one_session(own_service: Service, own_stranger: Browser) -> None:
    service = own_service
    code = new_code(service.admin, ConsoleRole.EDITOR, "bruno")
    page = own_stranger.log_in(code)
    assert page.status_code == 200
    assert "bruno" in page.text
    assert "editor" in page.text
    other = own_stranger.another()
    assert attempt(other, code) == 403
    assert other.cookies == {}
    (login,) = [each for each in audited(service, "console.login") if each.target == "bruno"]
    assert login.by == "console:bruno"
    assert login.detail == "editor companies=all"
    ended = new_code(service.admin, now=time.time() - CODE_SECONDS)
    assert attempt(other, ended) == 403
    assert other.cookies == {}


def test_only_digests_are_stored(service: Service, stranger: Browser) -> None:
    code = new_code(service.admin)
    stranger.log_in(code)
    secret = stranger.cookies[stranger.session_cookie]
    sessions = service.admin.wait(Logins(service.admin.control).sessions(1_000))
    assert all(secret not in repr(each) and code not in repr(each) for each in sessions)
    assert not [each for each in audited(service, "console.login") if secret in repr(each)]


def test_a_login_ends_the_session_that_the_browser_had(
    own_service: Service, own_stranger: Browser
) -> None:
    """And only that one; a login that fails ends none."""
    service, browser = own_service, own_stranger
    other, former = browser.another(), browser.another()
    for each in (browser, other):
        each.log_in(new_code(service.admin, ConsoleRole.VIEWER, "carla"))
    former.cookies = dict(browser.cookies)
    assert attempt(browser, "wrong") == 403
    assert browser.get("/console").status_code == 200
    browser.log_in(new_code(service.admin, ConsoleRole.ADMIN, "anna"))
    assert former.get("/console").headers["location"] == "/console/login"
    assert "anna" in browser.get("/console").text
    assert other.get("/console").status_code == 200
    end = audited(service, "console.logout")[-1]
    assert (end.by, end.target) == ("console:carla", "carla")


def test_the_end_by_the_user(admin: Browser) -> None:
    kept = dict(admin.cookies)
    page = admin.submit(admin.get("/console"), "/console/sessions/log-out")
    assert page.headers["location"] == "/console/login"
    assert admin.session_cookie not in admin.cookies
    admin.cookies = kept
    assert admin.get("/console").headers["location"] == "/console/login"


def test_the_end_of_all_sessions_of_a_user(own_service: Service, own_stranger: Browser) -> None:
    service, admin = own_service, logged_in(own_service)
    first, second = own_stranger.another(), own_stranger.another()
    for each in (first, second):
        each.log_in(new_code(service.admin, ConsoleRole.VIEWER, "carla"))
    unopened = new_code(service.admin, ConsoleRole.VIEWER, "carla")
    page = admin.get("/console/sessions")
    assert admin.submit(page, "/console/sessions/end", subject="carla").status_code == 303
    for each in (first, second):
        assert each.get("/console").headers["location"] == "/console/login"
    assert attempt(own_stranger, unopened) == 403
    assert admin.get("/console").status_code == 200
    (end,) = [each for each in audited(service, "console.end") if each.target == "carla"]
    assert end.by == "console:anna"


def check_own_sessions(browser: Browser) -> None:
    """The user sees no sessions of others, and cannot end them."""
    page = browser.get("/console/sessions")
    assert "anna" not in page.text
    assert browser.submit(page, "/console/sessions/end", subject="anna").status_code == 403


def test_only_an_admin_ends_sessions_of_others(service: Service, stranger: Browser) -> None:
    stranger.log_in(new_code(service.admin, ConsoleRole.EDITOR, "dora"))
    check_own_sessions(stranger)


@together("subject", ["", "x" * 65, "a\nb", "\0"])
def test_the_end_of_the_sessions_of_nobody(service: Service, admin: Browser, subject: str) -> None:
    before = len(audited(service, "console.end"))
    page = admin.get("/console/sessions")
    answer = admin.submit(page, "/console/sessions/end", subject=subject)
    assert answer.status_code == 409
    assert "Use up to 64 printable characters." in answer.text
    assert len(audited(service, "console.end")) == before


def test_an_admin_of_some_companies_administers_none(service: Service, stranger: Browser) -> None:
    some = frozenset({service.new_company().id})
    stranger.log_in(new_code(service.admin, ConsoleRole.ADMIN, "gerd", some))
    check_own_sessions(stranger)
    page = stranger.get("/console/requests")
    assert "Change the recording" not in page.text
    fields = {**dict(forms_of(page)[-2].fields), "level": "bodies", "for": "an hour"}
    answer = stranger.post("/console/requests/recording", fields)
    assert answer.status_code == 403
    assert "This concerns all companies, and gerd has some of them" in answer.text


def test_a_session_ends_by_time(
    service: Service, admin: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings, now = service.settings.of(ConsoleSettings), time.time()
    # the session began somewhat earlier
    monkeypatch.setattr(time, "time", lambda: now + settings.console_idle_seconds - 300)
    assert admin.get("/console").status_code == 200
    monkeypatch.setattr(time, "time", lambda: now + 2 * settings.console_idle_seconds - 361)
    assert admin.get("/console").status_code == 200
    monkeypatch.setattr(time, "time", lambda: now + 3 * settings.console_idle_seconds)
    assert admin.get("/console").headers["location"] == "/console/login"


def test_nobody_is_let_in_while_the_database_does_not_answer(start_service: StartService) -> None:
    """Another process may have ended the session."""
    service = start_service()
    browser = logged_in(service)
    page = browser.get("/console")
    drop = "DROP TABLE console_sessions"
    service.beside(lambda: run_sql(service.settings.database, drop))
    for answer in (browser.get("/console"), browser.submit(page, "/console/sessions/log-out")):
        assert answer.status_code == 503
        assert answer.headers["retry-after"] == "5"
        assert "The database does not answer." in answer.text
        assert "anna" not in answer.text


def test_a_form_of_an_ended_session_leads_to_the_login_and_can_be_sent_after_it(
    service: Service, company: Company
) -> None:
    editor = logged_in(service, ConsoleRole.EDITOR)
    address = f"/console/records/unitsOfMeasureExt/new?company={company.id}"
    typed = {"field.code": "BOX"}
    ended = editor.another()
    ended.cookies = dict(editor.cookies)
    editor.submit(editor.get(address), "/console/sessions/log-out")

    refused = ended.post(address, typed)
    assert (refused.status_code, refused.headers["location"]) == (303, "/console/login")
    assert company.listed("unitsOfMeasureExt") == []

    editor.log_in(new_code(service.admin, ConsoleRole.EDITOR))
    created = editor.follow(editor.post(address, typed))
    assert "The record was created" in created.text
