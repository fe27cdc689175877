"""The screen of roles."""

from comptoir.catalog import MODEL
from support.console import Browser, audited, error_beside
from support.service import Service

LIST = "/console/roles"
EDIT = f"{LIST}/edit"


def test_a_role_is_added_changed_and_removed(service: Service, admin: Browser) -> None:
    first, second, *_ = [each.name for each in MODEL.per_company]
    fields = {first: ["R", "I"], "own": second, "name": "clerk"}
    page = admin.follow(admin.submit(admin.get(EDIT), EDIT, **fields))
    assert "The role was saved." in page.text
    (entry,) = [each for each in audited(service, "role.apply") if each.target == "clerk"]
    assert (entry.by, entry.detail) == ("console:anna", f"*=R {first}=RI {second}=")

    form = admin.get(f"{EDIT}?name=clerk")
    admin.follow(admin.submit(form, EDIT, **{second: ["D"]}))
    entry = [each for each in audited(service, "role.apply") if each.target == "clerk"][-1]
    assert entry.detail == f"*=R {first}=RI {second}=D"

    admin.follow(admin.submit(admin.get(LIST), f"{LIST}/remove", name="clerk"))
    assert "clerk" not in admin.get(LIST).text
    assert admin.get(f"{EDIT}?name=clerk").status_code == 404


def test_the_names_of_roles(admin: Browser) -> None:
    admin.follow(admin.submit(admin.get(EDIT), EDIT, name="twice"))
    for name, message in (
        ("twice", "A role already has this name"),
        ("a b", "is not valid"),
        ("", "is"),
    ):
        page = admin.submit(admin.get(EDIT), EDIT, name=name)
        assert message in error_beside(page, "name")


def test_a_role_in_use_is_kept(admin: Browser) -> None:
    admin.follow(admin.submit(admin.get(EDIT), EDIT, name="in-use"))
    new = "/console/clients/new"
    fields = {"name": "role-user", "restricted": "some", "roles": "in-use"}
    assert admin.submit(admin.get(new), new, **fields).status_code == 200
    refused = admin.submit(admin.get(LIST), f"{LIST}/remove", name="in-use")
    assert refused.status_code == 409
    assert "the client role-user has the role in-use" in refused.text
