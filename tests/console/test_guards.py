"""What every request to the console passes, before any screen."""

import httpx

from comptoir.auth.failures import FREE_FAILURES
from comptoir.features.console.guards import HEADERS
from comptoir.features.console.templates import LARGEST_FORM
from support.console import FORM, Browser, logged_in, new_code, origin_of
from support.databases import ON_SQLITE
from support.service import Service
from support.together import check_all
from support.waiting import until

pytestmark = ON_SQLITE

LOG_OUT = "/console/sessions/log-out"


def test_every_answer_has_the_headers(own_service: Service, own_stranger: Browser) -> None:
    admin, stranger = logged_in(own_service), own_stranger
    answers = [
        admin.get("/console"),
        admin.get("/console/nowhere"),
        admin.post("/console", {}),
        admin.post("/console/sessions/end", {}, {}),
        stranger.get("/console"),
        stranger.get("/console/login"),
        stranger.get("/console/static/console.css"),
        stranger.get("/console/static/missing.js"),
        stranger.post("/console/login", {"code": "wrong"}),
        stranger.get("/console", {"Host": "evil.example"}),
    ]
    assert [each.status_code for each in answers] == [
        *(200, 404, 405, 403, 303, 200, 200, 404, 403, 421)
    ]
    assert answers[2].headers["allow"] in ("GET, HEAD", "HEAD, GET")
    expected = {name: [value] for name, value in HEADERS.items()}
    for each in answers:
        assert {name: each.headers.get_list(name) for name in HEADERS} == expected


def test_hosts_of_the_console(admin: Browser) -> None:
    def check(case: tuple[str, int]) -> None:
        host, status = case
        for path in ("/console", "/console/login", "/console/static/console.css"):
            assert admin.get(path, {"Host": host}).status_code == status

    own = ("127.0.0.1:8080", "localhost:8080", "LOCALHOST:8080", "[::1]:8080")
    foreign = ("evil.example", "127.0.0.1", "127.0.0.1:80", "127.0.0.1:8080.evil.example", "")
    check_all([*((each, 200) for each in own), *((each, 421) for each in foreign)], check)


FOREIGN: tuple[dict[str, str], ...] = (
    {},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
    {"Sec-Fetch-Site": "none"},
    {"Sec-Fetch-Site": "cross-site", "Origin": "http://127.0.0.1:8080"},
    {"Origin": "http://evil.example"},
    {"Origin": "https://127.0.0.1:8080"},
    {"Origin": "null"},
)


def test_forms_of_other_sites(service: Service, admin: Browser, stranger: Browser) -> None:
    def check(headers: dict[str, str]) -> None:
        assert admin.post(LOG_OUT, {}, headers).status_code == 403
        assert admin.get("/console").status_code == 200
        code = new_code(service.admin)
        assert stranger.post("/console/login", {"code": code}, headers).status_code == 403
        assert stranger.cookies == {}

    check_all(FOREIGN, check)
    # an older browser sends no metadata
    assert admin.post(LOG_OUT, {}, {"Origin": "http://127.0.0.1:8080"}).status_code == 303


def test_a_form_of_another_type(admin: Browser) -> None:
    headers = {"Sec-Fetch-Site": "same-origin", "Content-Type": "text/plain"}
    assert admin.request("POST", LOG_OUT, "", headers).status_code == 415
    headers["Content-Type"] = f"{FORM}; charset=utf-8"
    assert admin.request("POST", LOG_OUT, "", headers).status_code == 303


def test_a_form_that_is_too_large(admin: Browser) -> None:
    page = admin.get("/console")
    assert f'data-largest-form="{LARGEST_FORM}"' in page.text
    headers = {"Sec-Fetch-Site": "same-origin", "Content-Type": FORM}
    refused = admin.request("POST", LOG_OUT, "x=".ljust(LARGEST_FORM + 1, "x"), headers)
    assert refused.status_code == 413
    assert "The form has more than 1,048,576 bytes. Go back to it" in refused.text
    fits = admin.request("POST", LOG_OUT, "x=".ljust(LARGEST_FORM, "x"), headers)
    assert fits.status_code == 303


def test_guesses(own_service: Service, own_stranger: Browser) -> None:
    def sent(code: str) -> httpx.Response:
        return own_stranger.post("/console/login", {"code": code})

    def slowed() -> httpx.Response | None:
        answer = sent("wrong")
        return answer if answer.status_code == 429 else None

    assert {sent("wrong").status_code for _ in range(FREE_FAILURES)} == {403}
    answer = until(slowed, "a code that has to wait")
    assert int(answer.headers["retry-after"]) >= 1
    code = new_code(own_service.admin)
    until(lambda: sent(code).status_code == 303 or None, "it")


def test_five_of_many_at_once_are_looked_up(own_service: Service) -> None:
    url = f"{origin_of(own_service.settings)}/console/login"
    headers = {"Sec-Fetch-Site": "same-origin"}
    guess = httpx.Request("POST", url, headers=headers, data={"code": "wrong"})
    statuses = [each.status_code for each in own_service.send_all([guess] * 20)]
    assert FREE_FAILURES <= statuses.count(403) < 2 * FREE_FAILURES
    assert set(statuses) == {403, 429}


def test_requests_to_the_console_are_not_counted(service: Service, admin: Browser) -> None:
    def counted() -> list[str]:
        """The counts of requests; that of GET rises by those for metrics."""
        lines = service.origin.get("metrics").text.splitlines()
        counts = [each for each in lines if each.startswith("comptoir_requests_total")]
        return [each.partition('"GET"')[0] for each in counts]

    counted()
    before = counted()
    admin.get("/console")
    admin.get("/console/nowhere")
    admin.get("/console", {"Host": "evil.example"})
    assert counted() == before
