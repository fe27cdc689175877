"""Clients: what each may do, its secrets and keys, and the forms that change them."""

import hashlib
import time
from collections.abc import Callable, Iterable, Sequence

from msgspec.structs import replace

from comptoir.auth.audit import ActName
from comptoir.auth.client_keys import parse_client_key
from comptoir.auth.fields import (
    COMPANIES,
    LONGEST_DAYS,
    QUOTA,
    RATE,
    ROLES,
    SCOPES,
    USUAL_DAYS,
    changes_listed,
    checked_name,
    new_client,
    number,
    secret_for,
)
from comptoir.auth.limits import DAY
from comptoir.auth.origins import CONSOLE, own_origins, token_url
from comptoir.auth.records import Client, ClientKey, ConsoleRole
from comptoir.auth.tokens import Scope
from comptoir.errors.refusal import OperatorError
from comptoir.features.console import errors
from comptoir.features.console import errors as problems
from comptoir.features.console.form import ALL, SOME, Form, chosen, company_options, form_page
from comptoir.features.console.frame import Answer, Endpoint, Redirect, Screen, TemplatePage, act
from comptoir.features.console.templates import Context
from comptoir.features.console.visit import FormData, Visit
from comptoir.store.control import ControlStore

MOST_SHOWN = 200
"""The most clients that the list shows."""

_PAGE = "/clients/client"
_USUAL = (("secret-days", str(USUAL_DAYS)), ("key-days", str(USUAL_DAYS)))
_days = number(1, LONGEST_DAYS)


class _StaleError(OperatorError):
    """Somebody else has changed a client since its form was shown."""


async def show(visit: Visit) -> Answer:
    """Clients by name, or those whose name or id contains a text."""
    form = Form(visit.query)
    wanted = form.text("text").casefold()
    known = await visit.backend.control.load()
    found = [
        each
        for each in sorted(known.clients.values(), key=lambda each: each.name)
        if wanted in each.name.casefold() or wanted in each.id
    ]
    context = {"form": form, "clients": found[:MOST_SHOWN], "more": max(len(found) - MOST_SHOWN, 0)}
    return TemplatePage("clients.html", "Clients", context)


async def show_one(visit: Visit) -> Answer:
    """A client with all it has, and the forms to change it."""
    return await _page_of(visit, await _client(visit, visit.query.text("name")))


async def show_new(visit: Visit) -> Answer:
    """The form of a new client."""
    usual = (("scopes", Scope.RECORDS_READ), ("days", str(USUAL_DAYS)), ("secret", "yes"))
    fields = FormData((*usual, ("restricted", ALL), ("access", ALL)))
    return await _new_page(visit, Form(fields))


async def add(visit: Visit) -> Answer:
    """Add a client, and show its secret."""
    form = Form(visit.form)
    name = form.read("name", lambda text: checked_name(text, "a client"))
    terms = _terms(form)
    days = form.read("days", _days) if form.has("secret", "yes") else None
    if name is not None and not form.errors:
        client, secret = new_client(name, days, **terms)
        if await form.accepts("name", visit.backend.control.add_client(client, visit.actor)):
            return _secret_page(visit, client, secret)
    return await _new_page(visit, form)


async def change(visit: Visit) -> Answer:
    """Change the parts of a client that differ from the form."""
    client = await _client(visit, visit.form.text("name"))
    form = Form(FormData((*visit.form.pairs, *_USUAL)))
    terms = _terms(form)
    if not form.errors:
        changes = {part: value for part, value in terms.items() if getattr(client, part) != value}
        if not changes:
            return _back(visit, client.name, "")

        def changed(former: Client) -> Client:
            if _digest(former) != form.text("seen"):
                raise problems.CHANGED_MEANWHILE(kind=_StaleError)
            return replace(former, **changes)

        act = visit.act(ActName.CLIENT_CHANGE, client.name, changes_listed(changes))
        try:
            await visit.backend.control.change_client(changed, act)
        except _StaleError as error:
            form.refuse("seen", error)
            client = await _client(visit, client.name)
        except OperatorError as error:
            form.refuse("roles", error)
        else:
            return _back(visit, client.name, "changed")
    return await _page_of(visit, client, form, "The client was not changed.")


async def add_secret(visit: Visit) -> Answer:
    """Add a secret, and show it."""
    client = await _client(visit, visit.form.text("name"))
    form = _added(visit, client)
    days = form.read("secret-days", _days)
    if days is not None:
        secret, text = secret_for(days)
        change = visit.backend.control.add_secret(client.name, secret, visit.actor)
        if await form.accepts("secret-days", change):
            return _secret_page(visit, client, text)
    return await _page_of(visit, client, form, "The secret was not added.")


async def add_key(visit: Visit) -> Answer:
    """Add a public key or a certificate."""
    client = await _client(visit, visit.form.text("name"))
    form = _added(visit, client)
    days, now = form.read("key-days", _days), int(time.time())

    def parsed(text: str) -> ClientKey:
        return parse_client_key(text.encode(), "this text", now, now + (days or 1) * DAY)

    key = form.read("pem", parsed)
    if key is not None and not form.errors:
        change = visit.backend.control.add_key(client.name, key, visit.actor)
        if await form.accepts("pem", change):
            return _back(visit, client.name, "key")
    return await _page_of(visit, client, form, "The key was not added.")


def _switch(path: str, name: ActName, changed: Callable[[Client], Client], done: str) -> Endpoint:
    """An endpoint by which an admin disables or enables a client."""

    async def handle(visit: Visit) -> Answer:
        target = visit.form.text("name")
        await visit.backend.control.change_client(changed, visit.act(name, target))
        return _back(visit, target, done)

    return Endpoint("POST", path, handle, ConsoleRole.ADMIN)


async def _client(visit: Visit, name: str) -> Client:
    """The client with a name; raises `Refusal` (404)."""
    found = (await visit.backend.control.load()).by_name.get(name)
    if found is None:
        raise errors.NO_CLIENT()
    return found


async def _new_page(visit: Visit, form: Form) -> TemplatePage:
    context = await _choices(visit, (), await company_options(visit))
    return form_page("client_new.html", "New client", form, **context)


async def _page_of(
    visit: Visit, client: Client, form: Form | None = None, refused: str = ""
) -> TemplatePage:
    """The page of a client; what is `refused` has errors in the form."""
    companies = await company_options(visit, client.companies or ())
    names = dict(companies)
    context = {
        "client": client,
        "refused": refused,
        "seen": _digest(client),
        "company_names": [names.get(each, each) for each in sorted(client.companies or ())],
        "now": visit.backend.now,
        **await _choices(visit, client.roles or set(), companies),
    }
    form = form or Form(_form_data(client))
    return form_page("client.html", f"Client {client.name}", form, **context)


def _added(visit: Visit, client: Client) -> Form:
    """The form of a secret or a key, on the page with that of the client."""
    return Form(FormData((*visit.form.pairs, *_form_data(client).pairs)))


async def _choices(
    visit: Visit, roles: Iterable[str], companies: Sequence[tuple[str, str]]
) -> Context:
    """The options that the fields of a client offer, with the roles that it has."""
    known = {each.name for each in await visit.backend.control.roles()}
    return {
        "scopes": [(each, each) for each in Scope],
        "rate": RATE,
        "quota": QUOTA,
        "roles": [(each, each) for each in sorted(known.union(roles))],
        "companies": companies,
    }


def _form_data(client: Client) -> FormData:
    """The form of a client as it is now."""
    pairs = [("scopes", each) for each in client.scopes]
    pairs += [("restricted", ALL if client.roles is None else SOME)]
    pairs += [("roles", each) for each in client.roles or ()]
    pairs += [("access", ALL if client.companies is None else SOME)]
    pairs += [("companies", each) for each in client.companies or ()]
    pairs += [("rate", str(client.rate or "")), ("quota", str(client.quota or ""))]
    return FormData((*pairs, *_USUAL))


def _digest(client: Client) -> str:
    """The changes by the parts that the form of a client shows."""
    return hashlib.sha256(str(sorted(_form_data(client).pairs)).encode()).hexdigest()


def _secret_page(visit: Visit, client: Client, secret: str) -> TemplatePage:
    """The only page that shows a secret."""
    settings = visit.backend.settings
    endpoint = token_url(own_origins(settings)[0], settings.tenants[0])
    context = {"client": client, "secret": secret, "endpoint": endpoint}
    return TemplatePage("client_secret.html", f"Secret of {client.name}", context)


def _back(visit: Visit, name: str, done: str) -> Redirect:
    return Redirect(visit.url(f"{CONSOLE}{_PAGE}", name=name, done=done))


def _terms(form: Form) -> dict[str, object]:
    """The parts of a client that its form has, once nothing is wrong with it."""
    return {
        "scopes": form.read("scopes", lambda _: SCOPES.parse(" ".join(form.data.texts("scopes")))),
        "roles": chosen(form, "role", ROLES.parse),
        "companies": chosen(form, "company", COMPANIES.parse),
        "rate": form.read("rate", lambda text: RATE.parse(text) if text else None),
        "quota": form.read("quota", lambda text: QUOTA.parse(text) if text else None),
    }


SCREEN = Screen(
    "Clients",
    "/clients",
    (
        Endpoint("GET", "", show),
        Endpoint("GET", "/client", show_one),
        Endpoint("GET", "/new", show_new, ConsoleRole.ADMIN),
        Endpoint("POST", "/new", add, ConsoleRole.ADMIN),
        Endpoint("POST", "/change", change, ConsoleRole.ADMIN),
        Endpoint("POST", "/secrets/add", add_secret, ConsoleRole.ADMIN),
        act(
            "/secrets/remove",
            ControlStore.remove_secret,
            ["name", "hint"],
            "secret-removed",
            _PAGE,
            "name",
        ),
        Endpoint("POST", "/keys/add", add_key, ConsoleRole.ADMIN),
        act("/keys/remove", ControlStore.remove_key, ["name", "kid"], "key-removed", _PAGE, "name"),
        _switch("/disable", ActName.CLIENT_DISABLE, Client.disabled, "disabled"),
        _switch(
            "/enable", ActName.CLIENT_ENABLE, lambda each: each.enabled(time.time()), "enabled"
        ),
        act("/remove", ControlStore.remove_client, ["name"], "removed", "/clients"),
    ),
    40,
    is_of_service=True,
    done={
        "changed": "The client was changed.",
        "disabled": "The client is disabled. "
        "Within two seconds, its secrets and tokens are refused.",
        "enabled": "The client is enabled. Tokens from before remain refused.",
        "key": "The key was added.",
        "secret-removed": "The secret was removed.",
        "key-removed": "The key was removed.",
        "removed": "The client was removed.",
    },
)
