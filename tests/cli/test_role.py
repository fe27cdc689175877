"""`comptoir role`: the roles that clients of the token endpoint may have."""

from support.command import Command
from support.databases import ON_SQLITE

READS = ("--scope", "records.read")
SHOP = """
[shop]
contactsExt = "RIM"
"*" = "R"

[archive]
"""


def applied(command: Command, text: str) -> str:
    """Apply the roles of a text, and return what the command prints."""
    file = command.folder / "roles.toml"
    file.write_text(text, encoding="utf-8")
    return command.done("role", "apply", file).out


def test_roles_are_listed_by_name_and_replaced_as_a_whole(ready: Command) -> None:
    assert applied(ready, SHOP) == "shop: applied\narchive: applied\n"
    assert ready.done("role", "list").out == "archive\nshop contactsExt=RIM *=R\n"

    applied(ready, '[shop]\nitemsExt = "D"')
    assert ready.done("role", "list").out == "archive\nshop itemsExt=D\n"


def test_a_role_is_removed_once_no_client_has_it(ready: Command) -> None:
    applied(ready, SHOP)
    ready.done("client", "add", "webshop", *READS, "--role", "shop", "--role", "archive")
    assert " active records.read role=archive role=shop " in ready.done("client", "list").out

    assert ready.error("role", "remove", "shop") == (
        "comptoir: the client webshop has the role shop. "
        "Give the client other roles with `comptoir client change`."
    )
    ready.done("client", "change", "webshop", "--role", "archive")

    assert ready.done("role", "remove", "shop").out == "shop: removed\n"
    assert ready.done("role", "list").out == "archive\n"
    assert "the role 'shop' does not exist" in ready.error("role", "remove", "shop")


ERRORS = {
    '[a]\nitemsExt = "R"\n[b]\nitemExt = "R"': (
        "the role b names the entity set 'itemExt', which does not exist. Did you mean itemsExt?"
    ),
    '[a]\ncompanies = "R"': "the role a names the entity set 'companies', which does not exist",
    "[shop": "not valid TOML",
    'contactsExt = "R"': "'contactsExt' is outside a role",
    '["a b"]': "the name of the role 'a b' is not valid",
    '[""]': "the name of the role '' is not valid",
    f'["{"x" * 65}"]': "is not valid",
    '["a\\u0000"]': "is not valid",
    '[a]\nitemsExt = "RX"': "the rights of the role a to itemsExt are not valid",
    '[a]\nitemsExt = "RR"': "are not valid",
    '[a]\nitemsExt = "r"': "are not valid",
    "[a]\nitemsExt = 1": "are not valid",
    '[a.itemsExt]\nx = "R"': "are not valid",
}


def test_a_file_with_an_error_changes_nothing(ready: Command) -> None:
    file = ready.folder / "roles.toml"
    for text, error in ERRORS.items():
        file.write_text(text, encoding="utf-8")
        assert error in ready.error("role", "apply", file)
    assert ready.done("role", "list").out == ""


@ON_SQLITE
def test_a_missing_or_unreadable_file_is_refused(ready: Command) -> None:
    assert "no.toml cannot be read" in ready.error("role", "apply", ready.folder / "no.toml")
    binary = ready.folder / "binary.toml"
    binary.write_bytes(b"\xff")
    assert "binary.toml cannot be read" in ready.error("role", "apply", binary)


def test_an_unknown_role_of_a_client_is_refused(ready: Command) -> None:
    error = ready.error("client", "add", "webshop", *READS, "--role", "shop")
    assert error == (
        "comptoir: the role 'shop' does not exist. Add it to a file and run `comptoir role apply`."
    )
    applied(ready, SHOP)
    misspelled = ready.error("client", "add", "webshop", *READS, "--role", "shops")
    assert misspelled == "comptoir: the role 'shops' does not exist. Did you mean shop?"
    assert ready.done("client", "list").out == ""


def test_a_role_of_an_issuer_is_not_removed(ready: Command) -> None:
    applied(ready, SHOP)
    trust = ("--audience", "api://comptoir", "--map", "Reader=shop", "--unchecked")
    ready.done("issuer", "add", "idp", "https://issuer.example", *trust)

    assert ready.error("role", "remove", "shop") == (
        "comptoir: the issuer idp maps a value to the role shop. "
        "Remove the issuer, and add it with other roles."
    )
