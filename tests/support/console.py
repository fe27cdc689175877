"""A browser without scripts: it keeps cookies, follows links, and sends forms."""

import re
import time
from collections.abc import Mapping, Sequence
from html import unescape
from html.parser import HTMLParser
from typing import NamedTuple, Self
from urllib.parse import urlencode, urljoin, urlsplit

import httpx

from comptoir.auth.audit import Actor, AuditEntry
from comptoir.auth.origins import CONSOLE
from comptoir.auth.records import ConsoleRole, Login
from comptoir.config import Settings
from comptoir.features.console.logins import Logins, new_secret
from support.client import Carrier
from support.companies import CompanyAdmin
from support.server import Server
from support.service import Service

FORM = "application/x-www-form-urlencoded"
OPERATOR = Actor("cli:test")


class Form(NamedTuple):
    """A form of a page, with the values that its fields have."""

    method: str
    action: str
    fields: tuple[tuple[str, str], ...]


class _Forms(HTMLParser):
    """Collects the forms of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.forms: list[Form] = []
        self._textarea: str | None = None
        self._select = ""
        self._options: list[tuple[str, bool]] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attributes}
        if tag == "form":
            self.forms.append(Form(given.get("method", "get").upper(), given.get("action", ""), ()))
        elif tag == "select":
            self._select, self._options = given.get("name", ""), []
        elif tag == "option":
            self._options.append((given.get("value", ""), "selected" in given))
        elif tag == "textarea":
            self._textarea = given["name"]
            self._add(self._textarea, "")
        elif tag == "input" and "name" in given:
            is_choice = given.get("type") in ("checkbox", "radio")
            if not is_choice or "checked" in given:
                self._add(given["name"], given.get("value", "on" if is_choice else ""))

    def handle_data(self, data: str) -> None:
        """Add to the value of a textarea, which drops the line end that it begins with."""
        if self._textarea is not None:
            form = self.forms[-1]
            *others, (name, value) = form.fields
            whole = (value + data) if value else data.removeprefix("\n")
            self.forms[-1] = form._replace(fields=(*others, (name, whole)))

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea":
            self._textarea = None
        elif tag == "select" and self._options:
            chosen = next((value for value, is_chosen in self._options if is_chosen), None)
            self._add(self._select, chosen or self._options[0][0])

    def _add(self, name: str, value: str) -> None:
        if self.forms:
            form = self.forms[-1]
            self.forms[-1] = form._replace(fields=(*form.fields, (name, value)))


def forms_of(page: httpx.Response) -> list[Form]:
    """The forms of a page."""
    parser = _Forms()
    parser.feed(page.text)
    return parser.forms


def error_beside(page: httpx.Response, field: str) -> str:
    """The error that a form shows beside one of its fields."""
    assert page.status_code == 400
    (error,) = re.findall(rf'<p class="error" id="{field}-error">([^<]+)</p>', page.text)
    return unescape(error)


class Browser:
    """Uses the console at an origin as a browser without scripts would; may be logged in."""

    def __init__(self, carrier: Carrier, origin: str) -> None:
        self._carrier = carrier
        self.origin = origin
        self.cookies: dict[str, str] = {}

    @property
    def session_cookie(self) -> str:
        """The name of the cookie with the secret of a session, without TLS."""
        return f"comptoir_console_{urlsplit(self.origin).port}"

    def another(self) -> Self:
        """A browser of somebody else."""
        return type(self)(self._carrier, self.origin)

    def get(self, path: str, headers: dict[str, str] | None = None) -> httpx.Response:
        return self.request("GET", path, headers=headers)

    def post(
        self,
        path: str,
        fields: Mapping[str, str | Sequence[str]],
        headers: dict[str, str] | None = None,
    ) -> httpx.Response:
        """Send a form as the console's own pages do, by default."""
        sent = {"Sec-Fetch-Site": "same-origin"} if headers is None else headers
        return self.request(
            "POST", path, urlencode(fields, doseq=True), sent | {"Content-Type": FORM}
        )

    def request(
        self, method: str, path: str, body: str = "", headers: dict[str, str] | None = None
    ) -> httpx.Response:
        sent = dict(headers or {})
        if self.cookies:
            sent["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        url = urljoin(self.origin, path)
        answer = self._carrier.send(httpx.Request(method, url, headers=sent, content=body))
        for line in answer.headers.get_list("set-cookie"):
            name, _, value = line.split(";")[0].partition("=")
            if value.strip('"'):
                self.cookies[name] = value
            else:
                self.cookies.pop(name, None)
        return answer

    def submit(
        self, page: httpx.Response, action: str, **fields: str | Sequence[str]
    ) -> httpx.Response:
        """Fill in and send the form of a page whose action has this path."""
        path = urlsplit(action).path
        form = next(each for each in forms_of(page) if urlsplit(each.action).path == path)
        sent: dict[str, str | Sequence[str]] = {
            name: [value for key, value in form.fields if key == name] for name, _ in form.fields
        }
        sent |= {name.replace("_", "-"): value for name, value in fields.items()}
        if form.method == "GET":
            return self.get(f"{path}?{urlencode(sent, doseq=True)}")
        return self.post(form.action, sent)

    def follow(self, answer: httpx.Response) -> httpx.Response:
        """The page that a redirect leads to."""
        assert answer.status_code == 303, answer.text
        return self.get(answer.headers["location"])

    def log_in(self, code: str) -> httpx.Response:
        """The first page after a login with a code."""
        return self.follow(self.submit(self.get("/console/login"), "/console/login", code=code))


def new_code(
    admin: CompanyAdmin,
    role: ConsoleRole = ConsoleRole.ADMIN,
    subject: str = "anna",
    companies: frozenset[str] | None = None,
    now: float | None = None,
) -> str:
    """A code, as `comptoir console` adds one; `now` is the time at which it does."""
    code, at = new_secret(), int(time.time() if now is None else now)
    login = Login(subject, role, companies)
    admin.wait(Logins(admin.control).add_code(code, login, at, OPERATOR))
    return code


def origin_of(settings: Settings) -> str:
    """The origin at which a service without an admin port has its console."""
    parts = urlsplit(settings.beside_api(CONSOLE))
    return f"{parts.scheme}://{parts.netloc}"


def console_of(server: Server) -> Browser:
    """A browser for the console of a service that runs as a process."""
    return Browser(server, server.base_url.removesuffix(server.settings.base_path))


def logged_in(
    service: Service, role: ConsoleRole = ConsoleRole.ADMIN, companies: frozenset[str] | None = None
) -> Browser:
    """A browser for the console of a service within this process, of somebody who has logged in."""
    browser = Browser(service, origin_of(service.settings))
    assert browser.log_in(new_code(service.admin, role, companies=companies)).status_code == 200
    return browser


def audited(service: Service, act: str) -> list[AuditEntry]:
    """The entries of the audit log with an act."""
    entries = service.admin.wait(service.admin.control.audit(0, 10_000))
    return [each for each in entries if each.act == act]
