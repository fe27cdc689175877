"""An unknown name is refused with the nearest name that the client may mean."""

import pytest

from support.companies import Company
from support.refusals import refusal
from support.samples import ITEM
from support.service import Service

URL, MISSING = "BadRequest_InvalidRequestUrl", "BadRequest_ResourceNotFound"


@pytest.mark.parametrize(
    ("path", "nearest"),
    [
        ("contacts", "contactsExt"),
        ("contactsext", "contactsExt"),
        ("CONTACTSEXT", "contactsExt"),
        ("Contacts", "contactsExt"),
        ("contactExt", "contactsExt"),
        ("contact", "contactsExt"),
        ("items", "itemsExt"),
        ("salesPrice", "salesPricesExt"),
        ("unitOfMeasureExt('PCS')", "unitsOfMeasureExt"),
        ("itemproducttextlongcontents", "ItemProductTextLongContentsExt"),
        ("displayname", "displayName"),
        (f"itemsExt({ITEM})/Prices", "prices"),
        (f"itemsExt({ITEM})/price/$count", "prices"),
        (f"itemsExt({ITEM})/displayname", "displayName"),
        (f"itemsExt({ITEM})/displayname/$value", "displayName"),
        (f"itemsExt({ITEM})/prices/$cuont", "$count"),
        ("itemsExt/$Count", "$count"),
        ("itemsExt/$reff", "$ref"),
    ],
)
def test_a_path_with_an_unknown_name(path: str, nearest: str, stocked: Company) -> None:
    error = refusal(stocked.get(path), MISSING)

    assert f"Did you mean {nearest}?" in error.message


@pytest.mark.parametrize(
    ("path", "nearest"), [("Companies", "companies"), ("company", "companies"), ("$meta", "")]
)
def test_a_path_at_the_base_url(path: str, nearest: str, service: Service) -> None:
    error = refusal(service.client.get(path), MISSING)

    assert (f"Did you mean {nearest}?" in error.message) == bool(nearest)


@pytest.mark.parametrize(
    "path",
    [
        "zzz",
        f"itemsExt({ITEM})/zzz",
        f"itemsExt({ITEM})/number/more",
        "itemsExt/number",
        "x" * 5_000,
    ],
)
def test_a_path_without_a_nearest_name_names_the_list_of_resources(
    path: str, stocked: Company
) -> None:
    error = refusal(stocked.get(path), MISSING)

    assert "Did you mean" not in error.message
    assert "companies(<guid>)/" in error.message


@pytest.mark.parametrize(
    ("query", "option", "nearest"),
    [
        ("$select=DISPLAYNAME", "$select", "displayName"),
        ("$select=displayNam", "$select", "displayName"),
        ("$filter=NUMBER eq 'x'", "$filter", "number"),
        ("$filter=prices/any(p:p/UNITPRICE gt 1)", "$filter", "unitPrice"),
        ("$orderby=DISPLAYNAME desc", "$orderby", "displayName"),
        ("$expand=PRICES", "$expand", "prices"),
        ("$expand=prices($select=UNITPRICE)", "$expand", "unitPrice"),
        ("$expand=prices($filter=UNITPRICE gt 1)", "$expand", "unitPrice"),
        ("$compute=NUMBER as n", "$compute", "number"),
        ("$compute=number as code&$filter=CODE eq 'x'", "$filter", "code"),
        ("$apply=groupby((NUMBER))", "$apply", "number"),
        ("$apply=aggregate(PRICES with max as m)", "$apply", "prices"),
        ("$apply=aggregate($count as many)&$select=MANY", "$select", "many"),
        ("$apply=aggregate($count as many)&$filter=MANY gt 1", "$filter", "many"),
        ("$filter=CONTAIN(number,'x')", "$filter", "contains"),
    ],
)
def test_an_option_with_an_unknown_name(
    query: str, option: str, nearest: str, stocked: Company
) -> None:
    error = refusal(stocked.get("itemsExt", query), URL, option)

    assert f"Did you mean {nearest}?" in error.message


@pytest.mark.parametrize(("name", "nearest"), [("$fitler", "$filter"), ("$Order", "$orderby")])
def test_an_unknown_option(name: str, nearest: str, stocked: Company) -> None:
    error = refusal(stocked.get("itemsExt", f"{name}=x"), URL, name)

    assert f"Did you mean {nearest}?" in error.message


def test_a_body_with_an_unknown_name(own_stock: Company) -> None:
    body = {"displayName": "Ann", "CITY": "Oslo", "languagecode": "NOR"}

    error = refusal(own_stock.post("contactsExt", body), "BadRequest", "CITY")

    assert "Did you mean city?" in error.details[0].message
    assert "Did you mean languageCode?" in error.details[1].message


@pytest.mark.parametrize(
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
