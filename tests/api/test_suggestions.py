"""An unknown name is refused with the nearest name that the client may mean."""

from support.companies import Company
from support.databases import ON_SQLITE
from support.refusals import refusal
from support.service import Service
from support.together import together

pytestmark = ON_SQLITE  # nothing of this is up to the database

URL, MISSING = "BadRequest_InvalidRequestUrl", "BadRequest_ResourceNotFound"


@together(
    ("path", "nearest"), [("Companies", "companies"), ("company", "companies"), ("$meta", "")]
)
def test_a_path_at_the_base_url(path: str, nearest: str, service: Service) -> None:
    error = refusal(service.client.get(path), MISSING)

    assert (f"Did you mean {nearest}?" in error.message) == bool(nearest)


def test_a_body_with_an_unknown_name(own_stock: Company) -> None:
    body = {"displayName": "Ann", "CITY": "Oslo", "languagecode": "NOR"}

    error = refusal(own_stock.post("contactsExt", body), "BadRequest", "CITY")

    assert "Did you mean city?" in error.details[0].message
    assert "Did you mean languageCode?" in error.details[1].message


@together(
    ("option", "text"),
    [
        ("$filter", "onlinePasword eq 'x'"),
        ("$filter", "ONLINEPASSWORD eq 'x'"),
        ("$filter", "people/any(p:p/onlinePasword eq 'x')"),
        ("$orderby", "onlinePasword"),
        ("$compute", "onlinePasword as p"),
        ("$apply", "groupby((onlinePasword))"),
    ],
)
def test_no_suggestion_is_a_secret(option: str, text: str, stocked: Company) -> None:
    error = refusal(stocked.get("contactsExt", {option: text}), URL, option)

    assert "onlinePassword" not in error.message


def test_very_long_names_have_no_suggestion(stocked: Company) -> None:
    names = "displayName" * 1_000
    error = refusal(stocked.get("itemsExt", f"$select={names}"), URL, "$select")

    assert "Did you mean" not in error.message
