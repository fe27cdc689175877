"""Nothing that was typed is lost when a session ends: the page of a form sends it again."""

from html import unescape
from urllib.parse import urlencode

import httpx
import pytest

from comptoir.auth.logins import ConsoleRole
from comptoir.console.templates import LARGEST_FORM, LARGEST_KEPT
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


def sized(size: int) -> str:
    """A form of this many bytes."""
    return f"{urlencode(TYPED)}&field.long=".ljust(size, "x")


def test_a_form_that_is_too_large_is_shown_again(editor: Browser, company: Company) -> None:
    """Pages do not send one, unless scripts are blocked."""
    page = editor.get(address(company))
    assert f'data-largest-form="{LARGEST_FORM}"' in page.text
    headers = {"Sec-Fetch-Site": "same-origin", "Content-Type": FORM}

    fits = editor.request("POST", address(company), sized(LARGEST_FORM), headers)
    assert fits.status_code == 403
    refused = editor.request("POST", address(company), sized(LARGEST_FORM + 1), headers)
    assert refused.status_code == 413
    assert "The form has more than 1,048,576 bytes. Shorten a text, then send it" in refused.text
    shown = fields(refused)
    assert shown.items() >= TYPED.items()
    assert len(shown["field.long"]) > LARGEST_FORM / 2
    created = editor.follow(editor.submit(refused, address(company), **{"field.long": ""}))
    assert "The record was created" in created.text


def test_only_forms_of_users_are_kept(editor: Browser, stranger: Browser, company: Company) -> None:
    stranger.cookies = {stranger.session_cookie: "0" * 22}
    headers = {"Sec-Fetch-Site": "same-origin", "Content-Type": FORM}
    for browser, size in ((stranger, LARGEST_FORM), (editor, LARGEST_KEPT)):
        answer = browser.request("POST", address(company), sized(size + 1), headers)
        assert answer.status_code == 413
        assert f"The form has more than {size:,} bytes, and the console does" in answer.text


def test_a_typed_secret_is_not_shown_to_be_shortened(editor: Browser, company: Company) -> None:
    headers = {"Sec-Fetch-Site": "same-origin", "Content-Type": FORM}
    secret = "secret.onlinePassword=" + "canary-5f1e" * 100
    answer = editor.request(
        "POST", address(company, "contactsExt"), f"{secret}&{sized(LARGEST_FORM)}", headers
    )
    assert answer.status_code == 413
    assert "canary-5f1e" not in answer.text
    assert "Secrets are not kept: type them again afterwards." in unescape(answer.text)
