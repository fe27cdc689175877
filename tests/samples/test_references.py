"""References between records are correct."""

from comptoir.catalog import MODEL
from support.sample_files import Company


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
    customers = {record["displayName"] for record in small["customersExt"]}
    related = [
        record["displayName"]
        for record in small["contactsExt"]
        if record["contactBusinessRelation"] == "Customer"
    ]

    assert related
    assert set(related) <= customers


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
    whose = {
        record["referenceTypeNo"]
        for record in small["itemReferencesExt"]
        if record["referenceType"] == "Customer"
    }

    assert whose
    assert whose <= numbers(small, "customersExt")


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
