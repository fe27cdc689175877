"""Issuers: other services whose tokens this one accepts."""

from comptoir.auth.fields import guids
from comptoir.auth.issuer_terms import (
    COMPANIES_CLAIM,
    CONSOLE_CLIENT,
    ISSUER_FIELDS,
    check_issuer,
    checked_issuer_name,
    checked_issuer_url,
    policy_of,
)
from comptoir.auth.origins import redirect_uris
from comptoir.auth.records import ConsoleRole, Issuer, IssuerPolicy
from comptoir.features.console.form import SOME, Form, chosen, company_options, form_page, needed
from comptoir.features.console.frame import Answer, Endpoint, Redirect, Screen, TemplatePage, act
from comptoir.features.console.visit import FormData, Visit
from comptoir.store.control import ControlStore

CLAIM = "claim"
"""The option of an issuer whose tokens name the companies that they can access."""


async def show(visit: Visit) -> Answer:
    """All issuers by name."""
    settings, issuers = visit.backend.settings, await visit.backend.control.issuers()
    shown = [(each, redirect_uris(each.name, settings)) for each in issuers]
    return TemplatePage("issuers.html", "Issuers", {"issuers": shown})


async def show_new(visit: Visit) -> Answer:
    """The form of a new issuer."""
    usual = [(each.name, each.default) for each in ISSUER_FIELDS]
    return await _page(visit, Form(FormData((*usual, ("access", SOME)))))


async def add(visit: Visit) -> Answer:
    """Add an issuer, after its keys were fetched once."""
    form = Form(visit.form)
    settings = visit.backend.settings
    name = form.read("name", checked_issuer_name)
    url = form.read("url", lambda text: checked_issuer_url(needed(text), settings))
    terms = _policy(form)
    if name is not None and url is not None and terms is not None and not form.errors:
        issuer = Issuer(name, url, terms)
        checked = check_issuer(issuer, settings, unchecked=form.has("unchecked", "yes"))
        if await form.accepts("url", checked) and await form.accepts(
            "name", visit.backend.control.add_issuer(issuer, visit.actor)
        ):
            return Redirect(visit.url(SCREEN.address, done="added"))
    return await _page(visit, form)


def _policy(form: Form) -> IssuerPolicy | None:
    given = form.given(ISSUER_FIELDS)
    if form.has("access", CLAIM):
        form.read(COMPANIES_CLAIM.name, needed)
        companies: tuple[str, ...] | None = ()
    else:
        given[COMPANIES_CLAIM.key] = ""
        companies = chosen(form, "company", lambda ids: tuple(guids(ids)))
    if form.errors:
        return None
    return form.read(CONSOLE_CLIENT.name, lambda _: policy_of(given, companies, None))


async def _page(visit: Visit, form: Form) -> TemplatePage:
    fields, companies = {each.name: each for each in ISSUER_FIELDS}, await company_options(visit)
    return form_page("issuer_new.html", "New issuer", form, fields=fields, companies=companies)


SCREEN = Screen(
    "Issuers",
    "/issuers",
    (
        Endpoint("GET", "", show),
        Endpoint("GET", "/new", show_new, ConsoleRole.ADMIN),
        Endpoint("POST", "/new", add, ConsoleRole.ADMIN),
        act("/refresh", ControlStore.refresh_issuer, ["name"], "refreshed", "/issuers"),
        act("/remove", ControlStore.remove_issuer, ["name"], "removed", "/issuers"),
    ),
    60,
    is_of_service=True,
    done={
        "added": "The issuer was added. Within two seconds, its tokens are accepted.",
        "refreshed": "The next token of the issuer lets the service fetch its keys.",
        "removed": "The issuer was removed. Within two seconds, its tokens are refused.",
    },
)
