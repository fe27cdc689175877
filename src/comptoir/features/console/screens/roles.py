"""Roles: which rights each gives to the records of every entity set."""

from comptoir.auth.records import ConsoleRole
from comptoir.auth.roles import OTHERS, Right, Role, checked_role
from comptoir.features.console import errors
from comptoir.features.console import errors as problems
from comptoir.features.console.form import Form, form_page
from comptoir.features.console.frame import Answer, Endpoint, Redirect, Screen, TemplatePage, act
from comptoir.features.console.visit import FormData, Visit
from comptoir.store.control import ControlStore

RIGHTS = [(each.value, each.name.lower()) for each in Right]
"""The letters of the rights, and what people call them."""


async def show(visit: Visit) -> Answer:
    """All roles by name."""
    return TemplatePage("roles.html", "Roles", {"roles": await visit.backend.control.roles()})


async def edit(visit: Visit) -> Answer:
    """The form of a role, or of a new one."""
    name = visit.query.text("name")
    if not name:
        return _page(visit, Form(FormData(((OTHERS, Right.READ),))), is_new=True)
    for each in await visit.backend.control.roles():
        if each.name == name:
            return _page(visit, Form(_form_data(each)), is_new=False)
    raise errors.NO_ROLE_NAMED()


async def save(visit: Visit) -> Answer:
    """Add a role, or replace the rights of one."""
    form = Form(visit.form)
    is_new = form.text("is-new") == "yes"
    sets = _sets(visit)
    letters = {
        each: "".join([right for right, _ in RIGHTS if form.has(each, right)])
        for each in (OTHERS, *sets)
        if each == OTHERS or form.has("own", each) or form.data.has(each)
    }
    role = form.read("name", lambda name: checked_role(name, letters, sets))
    known = {each.name for each in await visit.backend.control.roles()}
    if role is not None and is_new and role.name in known:
        form.refuse("name", problems.ROLE_EXISTS())
    if role is None or form.errors:
        return _page(visit, form, is_new=is_new)
    await visit.backend.control.put_roles([role], visit.actor)
    return Redirect(visit.url(SCREEN.address, done="saved"))


def _page(visit: Visit, form: Form, *, is_new: bool) -> TemplatePage:
    title = "New role" if is_new else f"Role {form.text('name')}"
    context = {"is_new": is_new, "sets": _sets(visit), "others": OTHERS, "rights": RIGHTS}
    return form_page("role.html", title, form, **context)


def _form_data(role: Role) -> FormData:
    pairs = [("name", role.name)]
    for entity_set, letters in role.letters.items():
        pairs += [("own", entity_set), *[(entity_set, letter) for letter in letters]]
    return FormData(pairs)


def _sets(visit: Visit) -> list[str]:
    """The names of the entity sets to which roles give rights."""
    return [each.name for each in visit.backend.model.per_company]


SCREEN = Screen(
    "Roles",
    "/roles",
    (
        Endpoint("GET", "", show),
        Endpoint("GET", "/edit", edit, ConsoleRole.ADMIN),
        Endpoint("POST", "/edit", save, ConsoleRole.ADMIN),
        act("/remove", ControlStore.remove_role, ["name"], "removed", "/roles"),
    ),
    50,
    is_of_service=True,
    done={"saved": "The role was saved.", "removed": "The role was removed."},
)
