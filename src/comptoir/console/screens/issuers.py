"""Issuers: other services whose tokens this one accepts."""

from comptoir.auth.issuer_terms import (
    check_issuer,
    checked_issuer_name,
    checked_issuer_url,
    console_roles,
    console_scopes,
    console_terms,
    required_claim,
    targets_of,
)
from comptoir.auth.logins import ConsoleRole
from comptoir.auth.origins import redirect_uris
from comptoir.auth.records import ConsoleLogin, Issuer, IssuerPolicy
from comptoir.auth.verification import check_algorithms
from comptoir.console import errors as problems
from comptoir.console.form import Form
from comptoir.console.frame import Answer, Endpoint, Redirect, Screen, TemplatePage
from comptoir.console.restrictions import SOME, chosen_companies, company_options
from comptoir.console.visit import FormData, Visit
from comptoir.errors import OperatorError

CLAIM = "claim"
"""The option of an issuer whose tokens name the companies that they can access."""

DONE = {
    "added": "The issuer was added. Within two seconds, its tokens are accepted.",
    "refreshed": "The next token of the issuer lets the service fetch its keys.",
    "removed": "The issuer was removed. Within two seconds, its tokens are refused.",
}

USUAL = (
    ("algorithms", "RS256"),
    ("scope-claim", "scope"),
    ("roles-claim", "roles"),
    ("access", SOME),
)
"""The defaults of the form of a new issuer."""


async def show(visit: Visit) -> Answer:
    """All issuers by name."""
    settings, issuers = visit.backend.settings, await visit.backend.control.issuers()
    context = {
        "issuers": [(each, redirect_uris(each.name, settings)) for each in issuers],
        "done": DONE.get(visit.query.text("done"), ""),
    }
    return TemplatePage("issuers.html", "Issuers", context)


async def show_new(visit: Visit) -> Answer:
    """The form of a new issuer."""
    return await _page(visit, Form(FormData(USUAL)))


async def add(visit: Visit) -> Answer:
    """Add an issuer, after its keys were fetched once."""
    form = Form(visit.form)
    settings = visit.backend.settings
    name = form.read("name", checked_issuer_name)
    url = form.read("url", lambda text: checked_issuer_url(_needed(text), settings))
    terms = _terms(form)
    if name is not None and url is not None and terms is not None and not form.faults:
        issuer = Issuer(name, url, terms)
        try:
            await check_issuer(issuer, settings, unchecked=form.has("unchecked", "yes"))
        except OperatorError as error:
            form.refuse("url", error)
            return await _page(visit, form)
        try:
            await visit.backend.control.add_issuer(issuer, visit.actor)
        except OperatorError as error:
            form.refuse("name", error)
            return await _page(visit, form)
        return Redirect(visit.url(SCREEN.address, done="added"))
    return await _page(visit, form)


async def refresh(visit: Visit) -> Answer:
    """Let every process fetch the keys of an issuer again."""
    await visit.backend.control.refresh_issuer(visit.form.text("name"), visit.actor)
    return Redirect(visit.url(SCREEN.address, done="refreshed"))


async def remove(visit: Visit) -> Answer:
    """Remove an issuer, and end the sessions of its users."""
    await visit.backend.control.remove_issuer(visit.form.text("name"), visit.actor)
    return Redirect(visit.url(SCREEN.address, done="removed"))


def _terms(form: Form) -> IssuerPolicy | None:
    audience = form.read("audience", _needed)
    algorithms = form.read("algorithms", _algorithms)
    targets = form.read("map", lambda text: targets_of(_lines(text)))
    required = form.read("require", lambda text: dict(map(required_claim, _lines(text))))
    companies = form.read("companies", lambda _: _companies(form))
    claim = form.read(
        "companies-claim", lambda text: _needed(text) if form.has("access", CLAIM) else ""
    )
    console = _console(form)
    if form.faults or not (audience and algorithms and targets) or claim is None:
        return None
    return IssuerPolicy(
        audience=audience,
        algorithms=algorithms,
        scope_claim=form.text("scope-claim"),
        roles_claim=form.text("roles-claim"),
        scopes=targets[0],
        roles=targets[1],
        companies_claim=claim,
        companies=companies,
        required=required or {},
        console=console,
    )


def _console(form: Form) -> ConsoleLogin | None:
    """The login of people; None without one, or with a fault.

    Only the command names a file with a secret: an admin of the console could make the service send
    any file of its host to an issuer.
    """
    roles = form.read("console-role", lambda text: console_roles(_lines(text)))
    scopes = form.read("console-scope", lambda text: console_scopes(text.split()))
    if roles is None or scopes is None:
        return None
    return form.read("console-client-id", lambda text: console_terms(text, None, roles, scopes))


def _lines(text: str) -> list[str]:
    return [each.strip() for each in text.splitlines() if each.strip()]


def _needed(text: str) -> str:
    if not text:
        raise problems.MISSING()
    return text


def _algorithms(text: str) -> tuple[str, ...]:
    accepted = tuple(each.strip() for each in text.split(","))
    check_algorithms(accepted)
    return accepted


def _companies(form: Form) -> tuple[str, ...] | None:
    """The ids of companies, without those of a claim; None for every company."""
    return () if form.has("access", CLAIM) else chosen_companies(form)


async def _page(visit: Visit, form: Form) -> TemplatePage:
    context = {"form": form, "companies": await company_options(visit)}
    return TemplatePage("issuer_new.html", "New issuer", context, 400 if form.faults else 200)


SCREEN = Screen(
    "Issuers",
    "/issuers",
    (
        Endpoint("GET", "", show),
        Endpoint("GET", "/new", show_new, ConsoleRole.ADMIN),
        Endpoint("POST", "/new", add, ConsoleRole.ADMIN),
        Endpoint("POST", "/refresh", refresh, ConsoleRole.ADMIN),
        Endpoint("POST", "/remove", remove, ConsoleRole.ADMIN),
    ),
    is_of_service=True,
)
