"""The sample company: its references are correct, and its records are realistic.

They describe neither real persons nor real businesses.
"""

import re
from base64 import b64decode
from decimal import Decimal
from functools import cache
from pathlib import Path

import pytest

from comptoir.catalog import API_V2, BASE, MODEL, read_catalog
from support.sample_files import Company, read_company

RESERVED_HOST = re.compile(r"(?:[a-z0-9-]{1,63}\.)+example|example\.(?:com|net|org)")


@pytest.fixture(scope="module")
def small() -> Company:
    return read_company()


@cache
def of_api_v2() -> Company:
    return read_company(read_catalog(Path(API_V2)))


def numbers(company: Company, entity_set: str) -> set[str]:
    return {record["number"] for record in company[entity_set]}


def test_a_person_works_at_an_earlier_company_with_that_name(small: Company) -> None:
    companies: dict[str, str] = {}
    employed = 0
    for contact in small["contactsExt"]:
        if contact["type"] == "Company":
            companies[contact["number"]] = contact["displayName"]
        employed += contact["type"] == "Person" and bool(contact["companyNumber"])
        assert contact["companyName"] == companies.get(contact["companyNumber"], "")
        assert bool(contact["companyNumber"]) == bool(contact["companyName"])
    assert employed
    assert len(companies) > 1


def test_contacts_that_are_customers_are_among_the_customers(small: Company) -> None:
    contacts = [r for r in small["contactsExt"] if r["contactBusinessRelation"] == "Customer"]
    assert contacts
    customers = {record["displayName"] for record in small["customersExt"]}
    assert {record["displayName"] for record in contacts} <= customers


def test_records_about_items_name_items(small: Company) -> None:
    items = numbers(small, "itemsExt")
    assert {record["itemNo"] for record in small["itemReferencesExt"]} <= items
    assert {record["itemNo"] for record in small["itemTranslationsExt"]} == items
    assert {record["itemNo"] for record in small["itemAttributeValuesExt"]} == items
    assert {record["assetNumber"] for record in small["salesPricesExt"]} == items


def test_attribute_values_name_attributes_and_every_attribute_has_values(small: Company) -> None:
    attributes = {record["name"] for record in small["itemAttributesExt"]}
    assert {record["attributeName"] for record in small["itemAttributeValuesExt"]} == attributes


def test_every_unit_is_a_unit_of_measure(small: Company) -> None:
    units = {record["code"] for record in small["unitsOfMeasureExt"]}
    used = {record["baseUnitOfMeasureCode"] for record in small["itemsExt"]}
    used |= {record["unitOfMeasure"] for record in small["itemReferencesExt"]}
    used |= {record["unitOfMeasure"] for record in small["salesPricesExt"]}
    used |= {record["unitOfMeasure"] for record in small["itemAttributesExt"]} - {""}
    assert used <= units


def test_a_price_is_for_the_unit_of_its_item(small: Company) -> None:
    units = {record["number"]: record["baseUnitOfMeasureCode"] for record in small["itemsExt"]}
    for price in small["salesPricesExt"]:
        assert price["unitOfMeasure"] == units[price["assetNumber"]]


def test_the_source_of_a_price_exists(small: Company) -> None:
    known = {
        "All Customers": {""},
        "Customer": numbers(small, "customersExt"),
        "Campaign": numbers(small, "campaignsExt"),
        "Customer Price Group": {record["customerPriceGroup"] for record in small["customersExt"]},
    }
    assert {price["sourceType"] for price in small["salesPricesExt"]} == set(known)
    for price in small["salesPricesExt"]:
        assert price["sourceNumber"] in known[price["sourceType"]]
        campaign = price["sourceNumber"] if price["sourceType"] == "Campaign" else ""
        assert price["campaignNumber"] == campaign


def test_no_two_prices_of_an_item_are_for_the_same_buyer_and_quantity(small: Company) -> None:
    cases = [
        (price["assetNumber"], price["sourceType"], price["sourceNumber"], price["quantity"])
        for price in small["salesPricesExt"]
    ]
    assert len(set(cases)) == len(cases)


def test_a_customer_reference_names_a_customer(small: Company) -> None:
    ours = [r for r in small["itemReferencesExt"] if r["referenceType"] == "Customer"]
    assert ours
    assert {record["referenceTypeNo"] for record in ours} <= numbers(small, "customersExt")


def test_the_translation_into_the_first_language_is_the_name_of_the_item(small: Company) -> None:
    names = {record["number"]: record["displayName"] for record in small["itemsExt"]}
    english = [r for r in small["itemTranslationsExt"] if r["languageCode"] == "ENU"]
    assert english
    assert all(record["description"] == names[record["itemNo"]] for record in english)


def test_values_are_among_the_suggested_ones(small: Company) -> None:
    for entity_set, records in small.items():
        for declared in MODEL.by_name[entity_set].type.properties:
            if declared.suggested and declared.name != "internationalStandardCode":
                assert {record[declared.name] for record in records} <= set(declared.suggested)


def test_ids_of_the_api_v2_name_records() -> None:
    """Each id names a record of one of the sets to which its property leads."""
    model = read_catalog(Path(API_V2))
    company = of_api_v2()
    ids = {name: {each.get("id") for each in records} for name, records in company.items()}
    checked = 0
    for name in company.keys() - {each.name for each in MODEL.sets}:
        targets: dict[str, set[str]] = {}
        for relation in model.by_name[name].type.navigation:
            own, other = relation.on
            if own != "id" and other == "id":
                targets.setdefault(own, set()).add(relation.target)
        for own, sets in targets.items():
            named = {each[own] for each in company[name] if each.get(own)}
            assert named <= {key for each in sets for key in ids.get(each, ())}, f"{name} {own}"
            checked += len(named)
    assert checked > 100


def test_an_order_has_lines_with_its_totals() -> None:
    company = of_api_v2()
    for document in (
        "salesOrder",
        "salesInvoice",
        "salesQuote",
        "purchaseOrder",
        "purchaseInvoice",
    ):
        for each in company[f"{document}s"]:
            lines = [r for r in company[f"{document}Lines"] if r["documentId"] == each["id"]]
            total = sum(Decimal(line["amountIncludingTax"]) for line in lines)
            assert total == Decimal(each["totalAmountIncludingTax"]) > 0


def test_customers_of_the_api_v2_have_contacts() -> None:
    company = of_api_v2()
    contacts = {each["id"] for each in company["contacts"]}
    related = {each["relatedId"]: each["contactId"] for each in company["contactsInformation"]}
    assert related.keys() == {each["id"] for each in company["customers"]}
    assert set(related.values()) <= contacts


def test_a_set_of_a_user_with_other_properties_has_no_sample(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    sets = "[sets.vendors]\ntype = 'vendor'\nproperties = { id = 'Guid', name = 'String(100)' }\n"
    file.write_text(f"comptoir = 1\nbase = '{BASE}'\n{sets}", encoding="utf-8")
    assert read_company(read_catalog(file)).keys() == read_company().keys()


def test_the_search_name_of_a_contact_is_derived_from_its_name(small: Company) -> None:
    for contact in small["contactsExt"]:
        assert contact["searchName"] == contact["displayName"].upper()


def test_no_contact_has_the_name_of_a_person(small: Company) -> None:
    """The contacts of a business are its departments."""
    for contact in small["contactsExt"]:
        assert {contact[name] for name in ("firstName", "middleName", "surname")} == {""}


def test_no_contact_has_a_password(small: Company) -> None:
    assert {contact["onlinePassword"] for contact in small["contactsExt"]} == {""}


def test_mail_and_web_addresses_are_in_domains_reserved_for_examples(small: Company) -> None:
    for record in [*small["contactsExt"], *small["customersExt"]]:
        if record["type"] == "Person" and not record["email"]:
            continue
        mailbox, host = record["email"].split("@")
        assert re.fullmatch(r"[a-z0-9.-]+", mailbox)
        assert RESERVED_HOST.fullmatch(host), host
        assert not record["website"] or record["website"] == f"https://www.{host}"


def test_a_country_has_one_currency_and_one_language(small: Company) -> None:
    found = {
        (record["country"], record["currencyCode"], record["languageCode"])
        for record in [*small["contactsExt"], *small["customersExt"]]
    }
    assert len(found) == len({country for country, _, _ in found}) > 5


def test_the_content_type_of_a_long_text_is_that_of_its_content(small: Company) -> None:
    texts = small["ItemProductTextLongContentsExt"]
    assert {record["textContentType"] for record in texts} == {"Plain Text", "HTML"}
    for record in texts:
        text = b64decode(record["base64Text"]).decode()
        assert (record["textContentType"] == "HTML") == text.startswith("<div lang=")


def test_bar_codes_have_their_check_digit(small: Company) -> None:
    """GS1 General Specifications, section 7.9: the sum with weights 1 and 3 ends in 0."""
    codes = [r for r in small["itemReferencesExt"] if r["referenceType"] == "Bar Code"]
    assert codes
    for code in (record["referenceNo"] for record in codes):
        assert len(code) == 13
        assert sum(int(d) * (1, 3)[at % 2] for at, d in enumerate(code)) % 10 == 0


def test_the_status_of_a_campaign_follows_from_its_dates(small: Company) -> None:
    order = ["DONE", "STARTED", "SCHEDULED", "INIT"]
    campaigns = small["campaignsExt"]
    for campaign in campaigns:
        assert campaign["startingDate"] < campaign["endingDate"]
        assert (campaign["activated"] == "true") == (campaign["statusCode"] == "STARTED")
    places = [order.index(campaign["statusCode"]) for campaign in campaigns]
    assert places == sorted(places)
    assert set(places) == {0, 1, 2, 3}


def test_prices_are_above_cost_and_each_further_price_of_an_item_is_lower(small: Company) -> None:
    latest: dict[str, Decimal] = {}
    for price in small["salesPricesExt"]:
        value = Decimal(price["unitPrice"])
        assert value > Decimal(price["unitCostLCY"]) > 0
        assert value < latest.get(price["assetNumber"], value + 1)
        latest[price["assetNumber"]] = value


def test_some_customers_are_people_and_pay_retail_prices(small: Company) -> None:
    people = [record for record in small["customersExt"] if record["type"] == "Person"]
    assert 0 < len(people) < len(small["customersExt"]) / 2
    assert {record["customerPriceGroup"] for record in people} == {"RETAIL"}
