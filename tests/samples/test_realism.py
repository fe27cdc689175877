"""The records are realistic, and describe neither real persons nor real businesses."""

import re
from base64 import b64decode
from decimal import Decimal

from support.sample_files import Company

RESERVED_HOST = re.compile(r"(?:[a-z0-9-]{1,63}\.)+example|example\.(?:com|net|org)")


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
    codes = [
        record["referenceNo"]
        for record in small["itemReferencesExt"]
        if record["referenceType"] == "Bar Code"
    ]
    assert codes
    for code in codes:
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
