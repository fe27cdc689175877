"""Nothing that was typed is lost when a session ends: the page of a form sends it again."""

from html import unescape

import httpx
import pytest

from comptoir.auth.logins import ConsoleRole
from comptoir.console.templates import LARGEST_FORM
from console.conftest import LoggedIn
from support.companies import Company
from support.console import FORM, Browser, forms_of, new_code
from support.service import Service

TYPED = {
    "field.code": "BOX",
    "field.displayName": '<b>"Box" & more</b>\r\nand more',
    "field.symbol": " ",
}


def address(company: Company, resource: str = "unitsOfMeasureExt") -> str:
    return f"/console/records/{resource}/new?company={company.id}"


def fields(answer: httpx.Response) -> dict[str, str]:
    [form] = forms_of(answer)
    return dict(form.fields)


@pytest.fixture
def editor(logged_in: LoggedIn) -> Browser:
    return logged_in(ConsoleRole.EDITOR)


def test_a_form_is_sent_again_after_a_new_login(
    service: Service, editor: Browser, company: Company
) -> None:
    other_tab = editor.another()
    other_tab.cookies = dict(editor.cookies)
    left = other_tab.submit(other_tab.get("/console"), "/console/sessions/log-out")
    assert left.status_code == 303

    ended = editor.post(address(company), {"token": "of the old session", **TYPED})
    assert ended.status_code == 403
    assert "Your session has ended." in ended.text
    assert fields(ended).items() >= TYPED.items()
    assert company.listed("unitsOfMeasureExt") == []

    editor.log_in(new_code(service.admin, ConsoleRole.EDITOR))
    confirmed = editor.submit(ended, address(company))
    assert confirmed.status_code == 403
    assert "does not have the token of this session" in confirmed.text
    created = editor.follow(editor.submit(confirmed, address(company)))

    assert "The record was created" in created.text
    stored = company.record("unitsOfMeasureExt('BOX')")
    assert stored["displayName"] == '<b>"Box" & more</b>\nand more'


def test_typed_secrets_are_not_kept(editor: Browser, company: Company) -> None:
    form = forms_of(editor.get(address(company, "contactsExt")))[-1]
    sent = {**dict(form.fields), "token": "", "secret.onlinePassword": "canary-5f1e"}

    answer = editor.post(address(company, "contactsExt"), sent)

    assert answer.status_code == 403
    assert "canary-5f1e" not in answer.text
    assert "Secrets are not kept: type them again afterwards." in unescape(answer.text)


@pytest.mark.parametrize("secret", ["", "0" * 22])
def test_what_keeps_nothing_leads_to_the_login(stranger: Browser, secret: str) -> None:
    stranger.cookies = {stranger.session_cookie: secret} if secret else {}
    typed = {} if secret else TYPED

    answer = stranger.post("/console/sessions/log-out", {"token": "x", **typed})

    assert (answer.status_code, answer.headers["location"]) == (303, "/console/login")


def test_what_a_form_has_is_escaped(stranger: Browser, company: Company) -> None:
    script = '"><script>alert(1)</script>'
    stranger.cookies = {stranger.session_cookie: "0" * 22}

    answer = stranger.post(f"{address(company)}&x=%22%3E%3Cscript%3E", {script: script})

    assert answer.status_code == 403
    assert "<script" not in answer.text
    assert fields(answer)[script] == script


def test_a_form_that_is_too_large_says_so(editor: Browser, company: Company) -> None:
    """Pages do not send one, unless scripts are blocked."""
    page = editor.get(address(company))
    assert f'data-largest-form="{LARGEST_FORM}"' in page.text

    for size, status in ((LARGEST_FORM, 403), (LARGEST_FORM + 1, 413)):
        body = "a=".ljust(size, "x")
        headers = {"Sec-Fetch-Site": "same-origin", "Content-Type": FORM}
        answer = editor.request("POST", address(company), body, headers)
        assert answer.status_code == status
    assert (
        "The form has more than 1,048,576 bytes, and the console does not keep it. " in answer.text
    )
