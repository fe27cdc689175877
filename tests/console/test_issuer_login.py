"""Login to the console through an outside issuer: who gets in, and which answers are refused."""

import base64
import time
from collections.abc import Callable, Iterator, Mapping
from itertools import count, product
from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from comptoir.auth.failures import FREE_FAILURES
from comptoir.auth.records import ConsoleRole
from comptoir.features.console.login import MOST_RUNNING
from comptoir.features.console.logins import CODE_SECONDS, digest_of
from comptoir.features.console.visit import MOST_FIELDS
from support.certificates import trusted_folder
from support.clients import failed
from support.command import Command
from support.console import Browser, audited, new_code, origin_of
from support.databases import ON_SQLITE, FreshDatabase
from support.issuers import DISCOVERY, KEYS, LOOPBACK, TOKEN, IssuerCommand, OtherIssuer
from support.lying_server import with_body
from support.service import Roaming, Service
from support.together import check_all, together
from support.waiting import until

CLIENT = ("--console-client-id", "the-console")
ROLES = ("--console-role", "Staff=viewer", "--console-role", "Bosses of A=admin")
BAD_URLS = (
    *("http://localhost/x", "https://localhost/x#y", "https://[::1", "https:///x", "https://é/x"),
)
USER: Mapping[str, object] = {"sub": "joe", "roles": ["Staff"]}

_numbers = count()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of an authority that the service trusts."""
    with trusted_folder(tmp_path_factory.mktemp("issuer-logins")) as folder:
        yield folder


@pytest.fixture(scope="module")
def service(fresh_database: FreshDatabase, folder: Path) -> Iterator[Service]:
    with Service(fresh_database, folder, outgoing_allow=LOOPBACK) as service:
        yield service


@pytest.fixture(scope="module")
def command(service: Service, folder: Path) -> IssuerCommand:
    return IssuerCommand(service, folder)


class Known(NamedTuple):
    """An issuer, and its name here."""

    issuer: OtherIssuer
    name: str

    @property
    def start(self) -> str:
        return f"/console/login/{self.name}"


@pytest.fixture
def trusted(command: IssuerCommand, folder: Path) -> Iterator[Callable[..., Known]]:
    """Add an issuer with some options, until the end of the test."""
    added: list[Known] = []

    def add(*options: str) -> Known:
        known = Known(OtherIssuer(folder), f"issuer-{next(_numbers)}")
        known.issuer.user = USER
        added.append(known)
        command.add(known.name, known.issuer.url, *(options or (*CLIENT, *ROLES, "--company", "*")))
        return known

    yield add
    for issuer, name in added:
        issuer.stop()
        command.done("remove", name)


@pytest.fixture(scope="module")
def kept(command: IssuerCommand, folder: Path) -> Iterator[Known]:
    with OtherIssuer(folder) as issuer:
        command.add("lasting", issuer.url, *CLIENT, *ROLES, "--company", "*")
        yield Known(issuer, "lasting")


@pytest.fixture
def lasting(kept: Known) -> Known:
    """An issuer of several tests, which behaves well at first."""
    kept.issuer.user, kept.issuer.id_header = USER, {}
    kept.issuer.lies.clear()
    kept.issuer.asked.clear()
    return kept


@pytest.fixture
def strangers(service: Service, stranger: Browser) -> Iterator[Browser]:
    """Browsers whose failed logins make nobody wait."""
    return (Browser(Roaming(service), stranger.origin) for _ in count())


@pytest.fixture
def known(trusted: Callable[..., Known]) -> Known:
    return trusted()


def sent_to(browser: Browser, known: Known) -> str:
    """Where the console sends the user."""
    answer = browser.get(known.start, {"Sec-Fetch-Site": "same-origin"})
    assert answer.status_code == 303, answer.text
    return answer.headers["location"]


def back(browser: Browser, address: str) -> httpx.Response:
    """The way back from the issuer's site, for which browsers send no strict cookie."""
    session = browser.cookies.pop(browser.session_cookie, None)
    answer = browser.get(address, {"Sec-Fetch-Site": "cross-site"})
    if session is not None:
        browser.cookies.setdefault(browser.session_cookie, session)
    return answer


def come_back(browser: Browser, known: Known, **changed: str | None) -> httpx.Response:
    """The way to the issuer's site and back, with some parameters of its answer changed."""
    return back(browser, known.issuer.answer(sent_to(browser, known), **changed))


def refused(browser: Browser, answer: httpx.Response, message: str) -> None:
    """Nobody is logged in, and the page says why and offers another login."""
    assert answer.status_code == 403, answer.text
    assert message in answer.text
    assert 'href="/console/login/' in answer.text
    assert browser.session_cookie not in browser.cookies


def test_a_user_of_an_issuer_logs_in(service: Service, known: Known, stranger: Browser) -> None:
    page = stranger.get("/console/login")
    assert f'href="{known.start}"' in page.text
    assert f"Log in with {known.name}" in page.text
    answer = stranger.get(known.start, {"Sec-Fetch-Site": "same-origin"})
    (cookie,) = answer.headers.get_list("set-cookie")
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    assert f"Max-Age={CODE_SECONDS}" in cookie
    location = answer.headers["location"]
    asked = {name: value for name, (value,) in parse_qs(urlsplit(location).query).items()}
    assert location.startswith(f"{known.issuer.url}/authorize?")
    assert asked["redirect_uri"] == f"{stranger.origin}{known.start}/back"
    assert (asked["response_type"], asked["scope"]) == ("code", "openid")

    done = back(stranger, known.issuer.answer(location))
    assert done.status_code == 200
    assert '<meta http-equiv="refresh" content="0; url=/console">' in done.text
    assert "SameSite=strict" in done.headers["set-cookie"]
    assert list(stranger.cookies) == [stranger.session_cookie]
    page = stranger.get("/console")
    assert f"{known.name}:joe" in page.text
    assert "viewer" in page.text
    (login,) = [
        each for each in audited(service, "console.login") if each.target == f"{known.name}:joe"
    ]
    assert login.by == f"console:{known.name}:joe"
    assert login.detail == "viewer companies=all"


@ON_SQLITE
def test_cookies_by_tls(fresh_database: FreshDatabase, folder: Path) -> None:
    """Only the host itself can set them, and other sites lead back without the session."""
    public = "https://erp.example.com/api"
    with (
        Service(
            fresh_database, folder, outgoing_allow=LOOPBACK, public_url=public, console="on"
        ) as service,
        OtherIssuer(folder) as issuer,
    ):
        IssuerCommand(service, folder).add("public", issuer.url, *CLIENT, *ROLES)
        browser, issuer.user = Browser(service, origin_of(service.settings)), USER
        started = browser.get("/console/login/public")
        done = browser.get(issuer.answer(started.headers["location"]))
    assert done.status_code == 200
    set_by = [*started.headers.get_list("set-cookie"), *done.headers.get_list("set-cookie")]
    cookies = [each.split("; ") for each in set_by]
    assert [each[0].partition("=")[0] for each in cookies] == [
        "__Host-comptoir_login",
        "__Host-comptoir",
        "__Host-comptoir_login",
    ]
    for each, sent in zip(cookies, ("lax", "strict", "lax"), strict=True):
        assert {"HttpOnly", "Path=/", "Secure", f"SameSite={sent}"} < set(each)


@ON_SQLITE
def test_the_highest_role_counts(known: Known, stranger: Browser) -> None:
    known.issuer.user = {**USER, "roles": ["Bosses of A", "Staff", "Others"]}
    assert come_back(stranger, known).status_code == 200
    assert stranger.get("/console/issuers/new").status_code == 200


def test_companies_are_those_of_the_issuer(
    service: Service, trusted: Callable[..., Known], stranger: Browser
) -> None:
    """Without an option for companies, a user sees none."""
    company = service.new_company().id
    for options, expected in (((), ""), (("--company", company), company)):
        known, browser = trusted(*CLIENT, *ROLES, *options), stranger.another()
        come_back(browser, known)
        (login,) = [each for each in audited(service, "console.login") if known.name in each.target]
        assert login.detail == f"viewer companies={expected}"


@ON_SQLITE
def test_further_scopes(trusted: Callable[..., Known], stranger: Browser) -> None:
    """Some issuers add a claim only for a scope."""
    scopes = ("--console-scope", "groups", "--console-scope", "openid", "--console-scope", "x:y/z")
    known = trusted(*CLIENT, *ROLES, *scopes)
    asked = parse_qs(urlsplit(sent_to(stranger, known)).query)
    assert asked["scope"] == ["openid groups x:y/z"]


def id_tokens(issuer: str) -> dict[str, tuple[Mapping[str, object], Mapping[str, object], str]]:
    """Claims and headers of ID tokens for which nobody is logged in, and the message."""
    now, role = int(time.time()), f"{issuer} gives you no role in the console."
    invalid = f"The ID token of {issuer} was not accepted."
    return {
        "no claim": ({"roles": None}, {}, role),
        "another value": ({"roles": ["staff", "Staff "]}, {}, role),
        "the name of a role": ({"roles": ["admin", "viewer"]}, {}, role),
        "an object": ({"roles": {"Staff": True}}, {}, role),
        "another issuer": ({"iss": "https://localhost/other"}, {}, invalid),
        "the API's audience": ({"aud": "api://comptoir-tests"}, {}, invalid),
        "an audience beside the client": ({"aud": ["the-console", "other"]}, {}, invalid),
        "no audience": ({"aud": None}, {}, invalid),
        "another client": ({"azp": "other"}, {}, invalid),
        "another nonce": ({"nonce": "x"}, {}, invalid),
        "no nonce": ({"nonce": None}, {}, invalid),
        "expired": ({"exp": now - 61}, {}, invalid),
        "no end": ({"exp": None}, {}, invalid),
        "of the future": ({"iat": now + 120}, {}, invalid),
        "older than the login": ({"iat": now - 120}, {}, invalid),
        "without its time": ({"iat": None}, {}, invalid),
        "no subject": ({"sub": None}, {}, invalid),
        "a subject that cannot be printed": ({"sub": "a\nb"}, {}, invalid),
        "another algorithm": ({}, {"alg": "PS256"}, invalid),
        "another key": ({}, {"kid": "other"}, invalid),
        "another type": ({}, {"typ": "logout+jwt"}, invalid),
    }


@ON_SQLITE
def test_an_id_token_that_gives_no_login(lasting: Known, strangers: Iterator[Browser]) -> None:
    def check(case: str) -> None:
        claims, lasting.issuer.id_header, message = cases[case]
        lasting.issuer.user, stranger = {**USER, **claims}, next(strangers)
        answer = come_back(stranger, lasting)
        refused(stranger, answer, message)

    cases = id_tokens(lasting.name)
    check_all(cases, check)


@ON_SQLITE
def test_an_issuer_for_tokens_alone_has_no_login(
    trusted: Callable[..., Known], stranger: Browser
) -> None:
    known = trusted("--company", "*")
    assert known.name not in stranger.get("/console/login").text
    assert stranger.get(known.start).status_code == 404
    assert stranger.get(f"{known.start}/back?code=1&state=1").status_code == 404


@ON_SQLITE
def test_a_required_claim(trusted: Callable[..., Known], stranger: Browser) -> None:
    known = trusted(*CLIENT, *ROLES, "--company", "*", "--require", "tid=7")
    assert come_back(stranger, known).status_code == 403
    known.issuer.user = {**USER, "tid": "7"}
    assert come_back(stranger, known).status_code == 200


BAD_ANSWERS: dict[str, tuple[dict[str, str | None], str]] = {
    "no code": ({"code": None}, "did not give a code."),
    "a long code": ({"code": "x" * 2_049}, "did not give a code."),
    "cancelled": ({"code": None, "error": "access_denied"}, "The login was cancelled at"),
    "an error": ({"error": "server_error"}, "did not give a code."),
}


@ON_SQLITE
@together("case", BAD_ANSWERS)
def test_an_answer_that_is_not_valid(
    case: str, lasting: Known, strangers: Iterator[Browser]
) -> None:
    (changed, message), stranger = BAD_ANSWERS[case], next(strangers)
    answer = come_back(stranger, lasting, **changed)
    refused(stranger, answer, message)
    assert stranger.cookies == {}
    assert TOKEN not in lasting.issuer.asked


@ON_SQLITE
def test_an_answer_to_another_login(lasting: Known, strangers: Iterator[Browser]) -> None:
    """Also with a code of this login, which goes on."""
    for state in ("x", None):
        stranger = next(strangers)
        location = sent_to(stranger, lasting)
        answer = back(stranger, lasting.issuer.answer(location, state=state))
        refused(stranger, answer, "The answer belongs to another login (state).")
        assert TOKEN not in lasting.issuer.asked
        assert back(stranger, lasting.issuer.answer(location)).status_code == 200
        lasting.issuer.asked.clear()


@ON_SQLITE
def test_a_login_in_two_tabs(known: Known, stranger: Browser) -> None:
    """The one that began last can be finished, also after an answer in the other."""
    former, last = sent_to(stranger, known), sent_to(stranger, known)
    refused(stranger, back(stranger, known.issuer.answer(former)), "another login (state).")
    assert back(stranger, known.issuer.answer(last)).status_code == 200


def test_a_login_ends_the_session_that_the_browser_had(
    service: Service, trusted: Callable[..., Known], stranger: Browser
) -> None:
    """Whose cookie it does not send on the way back. A login that fails ends none."""
    known, former, subject = trusted(), stranger.another(), f"carla-{next(_numbers)}"
    stranger.log_in(new_code(service.admin, ConsoleRole.VIEWER, subject))
    former.cookies = dict(stranger.cookies)
    cancelled = known.issuer.answer(sent_to(stranger, known), code=None, error="access_denied")
    assert back(stranger, cancelled).status_code == 403
    assert former.get("/console").status_code == 200
    assert come_back(stranger, known).status_code == 200
    assert former.get("/console").headers["location"] == "/console/login"
    assert f"{known.name}:joe" in stranger.get("/console").text
    former.cookies = dict(stranger.cookies)
    stranger.log_in(new_code(service.admin, ConsoleRole.VIEWER, subject))
    assert former.get("/console").headers["location"] == "/console/login"
    ended = [each.target for each in audited(service, "console.logout")]
    assert [each for each in ended if each in (subject, f"{known.name}:joe")] == [
        subject,
        f"{known.name}:joe",
    ]


def test_a_login_by_a_code_meanwhile(service: Service, known: Known, stranger: Browser) -> None:
    """It is the last one: a login that began before could not end its session."""
    location = sent_to(stranger, known)
    stranger.log_in(new_code(service.admin, ConsoleRole.VIEWER))
    answer = back(stranger, known.issuer.answer(location))
    assert "This browser has not begun a login" in answer.text
    assert "anna" in stranger.get("/console").text


@ON_SQLITE
def test_nobody_names_another_session_to_end(
    service: Service, known: Known, stranger: Browser
) -> None:
    other = stranger.another()
    other.log_in(new_code(service.admin, ConsoleRole.VIEWER))
    secret = other.cookies[other.session_cookie]
    location = sent_to(stranger, known)
    name = f"{stranger.session_cookie}_login"
    stranger.cookies[name] += digest_of(secret)
    refused(stranger, back(stranger, known.issuer.answer(location)), "another login (state).")
    assert other.get("/console").status_code == 200


@ON_SQLITE
def test_an_answer_in_another_browser(known: Known, stranger: Browser) -> None:
    """Whether or not that has begun a login too."""
    answered = known.issuer.answer(sent_to(stranger, known))
    other = stranger.another()
    refused(other, back(other, answered), "This browser has not begun a login with")
    own = sent_to(other, known)
    refused(other, back(other, answered), "belongs to another login (state).")
    assert back(stranger, answered).status_code == 200
    assert back(other, known.issuer.answer(own)).status_code == 200


@ON_SQLITE
def test_an_answer_of_another_issuer(trusted: Callable[..., Known], stranger: Browser) -> None:
    """Neither its code nor its name is accepted where the user has chosen another one."""
    chosen, other = trusted(), trusted()
    answered = chosen.issuer.answer(sent_to(stranger, chosen))
    answer = back(stranger, answered.replace(chosen.name, other.name))
    refused(stranger, answer, "belongs to another login (state).")
    named = chosen.issuer.answer(sent_to(stranger, chosen), iss=other.issuer.url)
    answer = back(stranger, named)
    assert answer.status_code == 502
    assert TOKEN not in chosen.issuer.asked + other.issuer.asked


@ON_SQLITE
def test_the_issuer_names_itself_if_it_says_so(
    trusted: Callable[..., Known], stranger: Browser
) -> None:
    known = trusted()
    announced = {"authorization_response_iss_parameter_supported": True}
    known.issuer.lie(DISCOVERY, known.issuer.discovery(**announced))
    answer = come_back(stranger, known, iss=None)
    assert answer.status_code == 502
    assert come_back(stranger, known).status_code == 200


def test_a_login_is_finished_once(known: Known, stranger: Browser) -> None:
    """Also if the issuer accepts its code again."""
    location = sent_to(stranger, known)
    kept = dict(stranger.cookies)
    answered = known.issuer.answer(location)
    assert back(stranger, answered).status_code == 200
    thief = stranger.another()
    thief.cookies = dict(kept)
    assert back(thief, answered).status_code == 502
    assert thief.cookies == {}
    thief.cookies = dict(kept)
    refused(thief, back(thief, known.issuer.answer(location)), "was finished before")


@ON_SQLITE
def test_a_login_ends(known: Known, stranger: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    answered = known.issuer.answer(sent_to(stranger, known))
    later = time.time() + CODE_SECONDS + 1
    monkeypatch.setattr(time, "time", lambda: later)
    refused(stranger, back(stranger, answered), "in the last 10 minutes.")


@ON_SQLITE
def test_a_login_that_another_host_has_begun(
    known: Known, stranger: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its clock may be ahead by a minute."""
    begun, last = time.time(), ""
    for ahead, message in ((59, "You are logged in"), (62, "has not begun a login")):
        monkeypatch.setattr(time, "time", lambda: begun)
        last = known.issuer.answer(sent_to(stranger, known))
        monkeypatch.setattr(time, "time", lambda ahead=ahead: begun - ahead)
        assert message in back(stranger, last).text


@ON_SQLITE
def test_cookies_that_are_not_those_of_a_login(
    lasting: Known, strangers: Iterator[Browser]
) -> None:
    for cookie in ("", "x", "1.x", "99999999999.aaaaaaaaaaaaaaaaaaaaaa."):
        stranger = next(strangers)
        answered = lasting.issuer.answer(sent_to(stranger, lasting))
        stranger.cookies = {f"{stranger.session_cookie}_login": cookie}
        refused(stranger, back(stranger, answered), "This browser has not begun a login")


@ON_SQLITE
def test_other_sites_do_not_begin_a_login(known: Known, stranger: Browser) -> None:
    for site in ("cross-site", "same-site"):
        answer = stranger.get(known.start, {"Sec-Fetch-Site": site})
        assert answer.headers["location"] == "/console/login"
        assert stranger.cookies == {}


@ON_SQLITE
def test_a_secret_is_read_through_links(
    trusted: Callable[..., Known], tmp_path: Path, stranger: Browser
) -> None:
    """Kubernetes replaces a link to a dated folder when the secret changes."""
    link = tmp_path / "data"
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "secret").write_text(name, encoding="utf-8")
    link.symlink_to("one")
    given = (*CLIENT, *ROLES, "--company", "*", "--console-secret-file", str(link / "secret"))
    known = trusted(*given)
    assert come_back(stranger, known).status_code == 200
    link.unlink()
    link.symlink_to("two")
    (tmp_path / "one" / "secret").unlink()
    assert come_back(stranger, known).status_code == 200
    expected = [
        base64.b64encode(f"the-console:{name}".encode()).decode() for name in ("one", "two")
    ]
    assert known.issuer.authorizations == [f"Basic {each}" for each in expected]


@ON_SQLITE
def test_the_client_has_a_secret(
    trusted: Callable[..., Known], folder: Path, stranger: Browser
) -> None:
    """In `Authorization`, the default, or in the form if the issuer takes it only there."""
    file = folder / "console-secret"
    file.write_text("s p+c\n", encoding="utf-8")
    given = (*CLIENT, *ROLES, "--company", "*", "--console-secret-file", str(file))
    known = trusted(*given)
    assert come_back(stranger, known).status_code == 200
    expected = base64.b64encode(b"the-console:s+p%2Bc").decode()
    assert known.issuer.authorizations == [f"Basic {expected}"]
    posting = trusted(*given)
    methods = {"token_endpoint_auth_methods_supported": ["client_secret_post"]}
    posting.issuer.lie(DISCOVERY, posting.issuer.discovery(**methods))
    assert come_back(stranger, posting).status_code == 200
    assert posting.issuer.authorizations == [""]
    file.unlink()
    assert come_back(stranger, known).status_code == 502


LIES = {
    "nothing": b"",
    "no UTF-8": b'{"id_token": "\xff"}',
    "a token of other letters": b'{"id_token": "\\u00e9.\\u2603.\\ud83d\\ude00"}',
    "half a letter": b'{"id_token": "\\ud83d.a.b"}',
    "a deep value": b'{"id_token": ' + b"[" * 20_000,
    "no JSON": b"<html>",
    "no ID token": b'{"access_token": "x"}',
    "no token": b'{"id_token": "x"}',
    "a long token": b'{"id_token": "' + b"x" * 9_000 + b'"}',
    "more than is read": b" " * 70_000,
}


@ON_SQLITE
@together("case", LIES)
def test_answers_of_the_token_endpoint(
    case: str, lasting: Known, strangers: Iterator[Browser]
) -> None:
    lasting.issuer.lies[TOKEN], stranger = with_body(LIES[case]), next(strangers)
    answer = come_back(stranger, lasting)
    assert answer.status_code in (403, 502)
    assert "the audit log has the reason." in answer.text
    assert stranger.cookies == {}


@ON_SQLITE
def test_failed_logins_make_an_address_wait(
    service: Service, trusted: Callable[..., Known], stranger: Browser
) -> None:
    """With this issuer alone, and not the users of links; the login that waits goes on."""
    known, other = trusted(), trusted()

    def slowed() -> httpx.Response | None:
        answer = come_back(stranger, known, code="wrong")
        assert answer.status_code in (502, 429)
        return answer if answer.status_code == 429 else None

    answer = until(slowed, "a login that has to wait")
    assert int(answer.headers["retry-after"]) >= 1
    assert "Too many logins from this address failed." in answer.text
    elsewhere, by_code = stranger.another(), stranger.another()
    assert come_back(elsewhere, other).status_code == 200
    assert by_code.log_in(new_code(service.admin)).status_code == 200
    right = known.issuer.answer(sent_to(stranger, known))
    until(lambda: back(stranger, right).status_code == 200 or None, "the end of the wait")


@ON_SQLITE
def test_other_sites_make_nobody_wait(known: Known, stranger: Browser) -> None:
    """Their pages can send any browser to this address, also while its user logs in."""
    location = sent_to(stranger, known)
    begun = dict(stranger.cookies)
    for cookies in ({}, begun):
        stranger.cookies = dict(cookies)
        for _ in range(6):
            assert back(stranger, f"{known.start}/back?code=1&state=1").status_code == 403
    assert back(stranger, known.issuer.answer(location)).status_code == 200


@ON_SQLITE
def test_a_slow_issuer_keeps_nobody_from_another(
    service: Service, trusted: Callable[..., Known], stranger: Browser
) -> None:
    slow, other = trusted(), trusted()
    paths = (*[slow.start] * (MOST_RUNNING + 1), other.start)
    # all are there before the issuers have answered
    answers = service.send_all([httpx.Request("GET", f"{stranger.origin}{each}") for each in paths])
    assert [each.status_code for each in answers] == [303] * MOST_RUNNING + [503, 303]
    assert answers[-2].headers["retry-after"] == "1"


@ON_SQLITE
def test_users_who_cannot_be_checked_do_not_wait(
    service: Service, known: Known, stranger: Browser
) -> None:
    """The console has not asked the issuer for them."""
    location = sent_to(stranger, known)
    cookie = {"Cookie": "; ".join(f"{name}={value}" for name, value in stranger.cookies.items())}
    many = [known.issuer.answer(location) for _ in range(MOST_RUNNING + 2 * FREE_FAILURES)]
    answers = service.send_all([httpx.Request("GET", each, headers=cookie) for each in many])
    statuses = [each.status_code for each in answers]
    # a login is finished once
    assert sorted(statuses) == [200] + [403] * (MOST_RUNNING - 1) + [503] * 2 * FREE_FAILURES
    assert "Begin the login again in a moment." in answers[statuses.index(503)].text
    assert come_back(stranger, known).status_code == 200


@ON_SQLITE
def test_the_endpoints_and_the_keys_are_fetched_once(known: Known, stranger: Browser) -> None:
    for _ in range(2):
        assert come_back(stranger, known).status_code == 200
    assert [each for each in known.issuer.asked if each != TOKEN] == [DISCOVERY, KEYS] * 2, (
        "once by the command, once by the service"
    )


def test_failed_logins_are_audited(fresh_database: FreshDatabase, folder: Path) -> None:
    """With the reason that the page does not show, and without the code."""
    with (
        Service(fresh_database, folder, outgoing_allow=LOOPBACK) as service,
        OtherIssuer(folder) as issuer,
    ):
        command = IssuerCommand(service, folder)
        command.add("audited", issuer.url, *CLIENT, *ROLES)
        known, origin = Known(issuer, "audited"), origin_of(service.settings)
        for roles in (None, ["Guests"]):
            issuer.user = {**USER, "roles": roles}
            stranger = Browser(Roaming(service), origin)
            page = come_back(stranger, known)
            refused(stranger, page, "audited gives you no role in the console.")
            assert "claim" not in page.text
        issuer.user = {**USER, "aud": "other"}
        stranger = Browser(service, origin)
        page = come_back(stranger, known)
        assert page.status_code == 403
        assert "(aud)" not in page.text
        assert stranger.get("/console/login/nobody").status_code == 404
        issuer.lie(TOKEN, {"id_token": 1})
        assert come_back(stranger, known).status_code == 502
        issuer.lies[TOKEN] = with_body(b"", b"HTTP/1.1 302 Found\r\nLocation: /other\r\n")
        assert come_back(stranger, known).status_code == 502
        issuer.lie(DISCOVERY, issuer.discovery(token_endpoint="https://10.1.2.3/token"))
        command.done("refresh", "audited")
        assert come_back(stranger, known).status_code == 502
        assert come_back(stranger, known, state="x").is_error
        database = service.settings.database
    entries = failed(Command(folder, database))
    assert {each.target for each in entries} == {"console audited"}
    assert sorted(each.detail.partition("reason=")[2] for each in entries) == [
        "'https://10.1.2.3/token' cannot be reached: 10.1.2.3 is not a global address",
        f"'{issuer.url}{TOKEN}' responded with status 302",
        f"'{issuer.url}{TOKEN}' responded without an ID token",
        "The ID token is not for this login (aud)",
        "The answer belongs to another login (state)",
        "roles are in the claim 'roles', and its values have no role",
        "roles are in the claim 'roles', and the ID token does not have it",
    ]


@ON_SQLITE
def test_the_log_has_no_code(
    fresh_database: FreshDatabase, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Not even a log that has queries, whatever comes with the code."""
    with Service(fresh_database, tmp_path, log_level="debug") as service:
        stranger = Browser(service, origin_of(service.settings))
        capfd.readouterr()
        address = "/console/login/nobody/back?code=canary-1&state=canary-2"
        assert stranger.get(address).status_code == 404
        assert stranger.get(f"{address}{'&x=1' * MOST_FIELDS}").status_code == 400
        stranger.get("/console/login?shown=1")
    logged = capfd.readouterr().err
    assert "/console/login/nobody/back" in logged
    assert "shown=1" in logged
    assert "canary" not in logged


UNUSABLE: dict[str, Callable[[OtherIssuer], None]] = {
    "away": lambda issuer: issuer.stop(),
    "without keys": lambda issuer: issuer.lie(KEYS, "x"),
    "with a bad endpoint": lambda issuer: issuer.lie(
        DISCOVERY, issuer.discovery(authorization_endpoint=BAD_URLS[-1])
    ),
    "with another bad endpoint": lambda issuer: issuer.lie(
        DISCOVERY, issuer.discovery(token_endpoint=BAD_URLS[-1])
    ),
}


@ON_SQLITE
@together("case", UNUSABLE)
def test_an_issuer_that_cannot_be_used(
    case: str, trusted: Callable[..., Known], stranger: Browser
) -> None:
    """Nobody is sent there, since nothing that it answers could be checked."""
    known = trusted()
    UNUSABLE[case](known.issuer)
    answer = stranger.get(known.start)
    assert answer.status_code == 502
    assert f"The login with {known.name} failed." in answer.text
    assert stranger.cookies == {}


def test_removing_the_issuer_ends_its_sessions(
    command: IssuerCommand, known: Known, trusted: Callable[..., Known], stranger: Browser
) -> None:
    kept, other = trusted(), stranger.another()
    come_back(stranger, known)
    come_back(other, kept)
    command.done("remove", known.name)
    assert stranger.get("/console").headers["location"] == "/console/login"
    assert other.get("/console").status_code == 200
    command.add(known.name, known.issuer.url, *CLIENT, *ROLES)


REFUSED: dict[str, tuple[tuple[str, ...], str]] = {
    "no roles": (CLIENT, "a login of people needs a client and roles."),
    "no client": (ROLES, "a login of people needs a client and roles."),
    "another role": ((*CLIENT, "--console-role", "a=owner"), "invalid role of people"),
    "no value": ((*CLIENT, "--console-role", "=admin"), "invalid role of people"),
    "two roles": ((*CLIENT, *ROLES, *ROLES), "'Staff' gives two roles."),
    "scopes alone": (("--console-scope", "a"), "a login of people needs a client and roles."),
    "two scopes": ((*CLIENT, *ROLES, "--console-scope", "a b"), "invalid scope 'a b'."),
    "no scope": ((*CLIENT, *ROLES, "--console-scope", ""), "invalid scope ''."),
    "no file": ((*CLIENT, *ROLES, "--console-secret-file", "missing"), "missing is not a file."),
}


@ON_SQLITE
@together("case", REFUSED)
def test_options_that_are_not_valid(case: str, command: IssuerCommand, lasting: Known) -> None:
    options, message = REFUSED[case]
    assert message in command.error("new", lasting.issuer.url, *options)


@ON_SQLITE
@together(("member", "url"), product(("authorization_endpoint", "token_endpoint"), BAD_URLS))
def test_the_endpoints_are_checked(
    member: str, url: str, command: IssuerCommand, lasting: Known
) -> None:
    lasting.issuer.lie(DISCOVERY, lasting.issuer.discovery(**{member: url}))
    error = command.error("new", lasting.issuer.url, *CLIENT, *ROLES)
    assert "is not an https URL, or has a fragment" in error


@ON_SQLITE
def test_endpoints_may_have_a_query_and_are_fetched_again_by_a_refresh(
    command: IssuerCommand, known: Known, stranger: Browser
) -> None:
    former = urlsplit(sent_to(stranger, known)).path
    for path, added in (("/a", None), ("/b?", None), ("/c?p=1", ["1"])):
        endpoint = f"{known.issuer.url}{path}"
        known.issuer.lie(DISCOVERY, known.issuer.discovery(authorization_endpoint=endpoint))
        assert urlsplit(sent_to(stranger, known)).path == former
        command.done("refresh", known.name)
        address = urlsplit(sent_to(stranger, known))
        former, asked = urlsplit(endpoint).path, parse_qs(address.query)
        assert (address.path, asked["response_type"], asked.get("p")) == (former, ["code"], added)


@ON_SQLITE
def test_the_command_prints_the_address_to_register(
    command: IssuerCommand, folder: Path, service: Service
) -> None:
    with OtherIssuer(folder) as issuer:
        given = (*CLIENT, *ROLES, "--console-scope", "groups", "--company", "*")
        out = command.add("printed", issuer.url, *given).out
        origin = origin_of(service.settings)
        assert f"{origin}/console/login/printed/back" in out
        listed = command.done("list")
        assert (
            "console-client-id=the-console console-role=Staff=viewer "
            "console-role=Bosses of A=admin console-scope=groups" in listed
        )
        command.done("remove", "printed")
