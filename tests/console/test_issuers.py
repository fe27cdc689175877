"""The screen of outside issuers."""

from pathlib import Path

from support.clients import add_client
from support.console import Browser, audited, error_beside
from support.databases import ON_SQLITE
from support.service import Service
from support.together import together

LIST = "/console/issuers"
NEW = f"{LIST}/new"
FIELDS = {
    "name": "entra",
    "url": "https://login.example.com/v2.0",
    "audience": "api://comptoir",
    "unchecked": "yes",
    "access": "all",
}


def test_an_issuer_is_added_refreshed_and_removed(service: Service, admin: Browser) -> None:
    mapped = {"map": "Reader=records.read\r\n Admins of A=admin\r\n", "require": "tid=7"}
    page = admin.follow(admin.submit(admin.get(NEW), NEW, **FIELDS, **mapped))
    assert "The issuer was added." in page.text
    assert "Admins of A → admin" in page.text
    entry = audited(service, "issuer.add")[-1]
    assert entry.by == "console:anna"
    assert entry.detail == (
        "https://login.example.com/v2.0 audience=api://comptoir algorithms=RS256 scope-claim=scope "
        "roles-claim=roles map=Reader=records.read map=Admins of A=admin company=* require=tid=7"
    )
    again = admin.submit(admin.get(NEW), NEW, **FIELDS)
    assert again.status_code == 400
    assert "The issuer entra with the URL" in again.text
    page = admin.follow(admin.submit(page, f"{LIST}/refresh"))
    page = admin.follow(admin.submit(page, f"{LIST}/remove"))
    assert "only tokens of this service are accepted" in page.text
    for act in ("issuer.refresh", "issuer.remove"):
        assert audited(service, act)[-1].target == "entra"


def test_people_log_in_through_an_issuer(service: Service, admin: Browser, tmp_path: Path) -> None:
    """Its page has the address to register there."""
    login = {
        "console_client_id": "the-console",
        "console_role": "Staff=viewer\r\nA=B=admin\r\n",
        "console_scope": "groups  profile",
    }
    page = admin.follow(admin.submit(admin.get(NEW), NEW, **FIELDS, **login))
    assert "as the client the-console; Staff → viewer; A=B → admin; nobody else" in page.text
    assert "; with the scopes openid groups profile<" in page.text
    assert f"{admin.origin}/console/login/entra/back" in page.text
    entry = audited(service, "issuer.add")[-1]
    assert entry.detail.endswith(
        "console-client-id=the-console console-role=Staff=viewer console-role=A=B=admin "
        "console-scope=groups console-scope=profile"
    )
    # the service reads the control tables for each request of a client
    add_client(service, tmp_path).token()
    assert 'href="/console/login/entra"' in admin.another().get("/console/login").text
    admin.submit(page, f"{LIST}/remove")


LOGIN = {"console_client_id": "x", "console_role": "Staff=viewer"}


@ON_SQLITE
@together(
    ("given", "field", "message"),
    [
        ({"name": "console"}, "name", "begins the subjects of other parties"),
        ({"url": ""}, "url", "Enter it"),
        ({"url": "http://127.0.0.1:8080/comptoir/v2.0"}, "url", "is this service"),
        ({"url": "https://127.0.0.1:1", "unchecked": ""}, "url", "not added"),
        ({"url": "http://login.example.com"}, "url", "not added"),
        ({"audience": ""}, "audience", "Enter it"),
        ({"algorithms": "none"}, "algorithms", "none"),
        ({"map": "Reader"}, "map", "Write VALUE=ROLE"),
        ({"map": "Reader=nobody"}, "name", "does not exist"),
        ({"require": "tid"}, "require", "Write CLAIM=VALUE"),
        ({"console_client_id": "x"}, "console-client-id", "Name both, or neither"),
        ({"console_role": "A=viewer"}, "console-client-id", "Name both, or neither"),
        ({**LOGIN, "console_role": "A=owner"}, "console-role", "viewer or editor or"),
        ({**LOGIN, "console_scope": 'a "b"'}, "console-scope", "Invalid scope"),
        ({"access": "some"}, "companies", "Choose at least one"),
        ({"access": "claim"}, "companies-claim", "Enter it"),
    ],
)
def test_an_error_is_shown_beside_its_field(
    given: dict[str, str], field: str, message: str, admin: Browser
) -> None:
    """With what was entered, and nothing is added."""
    page = admin.submit(admin.get(NEW), NEW, **{**FIELDS, "scope_claim": "scp", **given})
    assert message in error_beside(page, field)
    assert 'value="scp"' in page.text
    assert "entra" not in admin.get(LIST).text


def test_a_form_names_no_file(admin: Browser, tmp_path: Path) -> None:
    """It could be any file of the host, whose content goes to the issuer."""
    file = tmp_path / "secret"
    file.write_text("s", encoding="utf-8")
    fields = {**FIELDS, **LOGIN, "console_secret_file": str(file)}
    page = admin.follow(admin.submit(admin.get(NEW), NEW, **fields))
    assert str(tmp_path) not in page.text
    admin.submit(page, f"{LIST}/remove")
