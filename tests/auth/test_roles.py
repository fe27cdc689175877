"""Roles: their file, and the rights that several of them give together."""

import pytest

from comptoir.auth.roles import Right, Role, parse_roles, rights_of
from comptoir.errors.refusal import OperatorError

SETS = ("contactsExt", "customersExt", "itemsExt")
SHOP = """
[shop]
contactsExt = "RIM"
customersExt = ""
"*" = "R"

[nothing]
"""


def test_a_file_has_the_letters_of_each_role() -> None:
    shop, nothing = parse_roles(SHOP, SETS)

    assert shop == Role("shop", {"contactsExt": "RIM", "customersExt": "", "*": "R"})
    assert nothing == Role("nothing", {})


def test_a_set_that_a_role_names_is_not_one_of_the_others() -> None:
    rights = rights_of(parse_roles(SHOP, SETS), SETS)

    assert rights.readable == {"contactsExt", "itemsExt"}
    for right, allowed in (("R", True), ("I", True), ("M", True), ("D", False)):
        assert rights.allow(Right(right), "contactsExt") is allowed
        assert rights.allow(Right(right), "customersExt") is False


def test_several_roles_give_what_one_of_them_gives() -> None:
    roles = [Role("a", {"itemsExt": "R"}), Role("b", {"itemsExt": "D", "contactsExt": "I"})]

    rights = rights_of(roles, SETS)

    given = {(right.value, name) for right, names in rights.sets.items() for name in names}
    assert given == {("R", "itemsExt"), ("D", "itemsExt"), ("I", "contactsExt")}


def test_no_role_gives_no_right() -> None:
    assert not any(rights_of([], SETS).sets.values())


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("[shop", "not valid TOML"),
        ('contactsExt = "R"', "'contactsExt' is outside a role"),
        ('["a b"]', "the name of the role 'a b' is not valid"),
        ('[""]', "the name of the role '' is not valid"),
        (f'["{"x" * 65}"]', "is not valid"),
        ('["a\\u0000"]', "is not valid"),
        ('[shop]\ncontactExt = "R"', "contactsExt"),
        ('[shop]\ncompanies = "R"', "'companies', which does not exist"),
        ('[shop]\nitemsExt = "RX"', "the rights of the role shop to itemsExt are not valid"),
        ('[shop]\nitemsExt = "RR"', "are not valid"),
        ('[shop]\nitemsExt = "r"', "are not valid"),
        ("[shop]\nitemsExt = 1", "are not valid"),
        ('[shop.itemsExt]\nx = "R"', "are not valid"),
    ],
)
def test_a_file_that_is_not_valid_is_refused_with_its_error(text: str, error: str) -> None:
    with pytest.raises(OperatorError) as raised:
        parse_roles(text, SETS)

    assert error in str(raised.value)
