"""The page of a record: values in the form of people, what they name, and related records."""

from html import unescape
from urllib.parse import urlencode

from comptoir.auth.records import ConsoleRole
from comptoir.features.console.captions import words
from conftest import stock
from support.companies import Company
from support.console import Browser, logged_in
from support.databases import ON_SQLITE
from support.samples import CONTACT
from support.service import Service
from support.together import together
from support.waiting import until


def page(browser: Browser, company: Company, path: str, key: str) -> str:
    query = urlencode({"company": company.id, "key": key})
    return opened(browser, f"/console/records/{path}?{query}")


def opened(browser: Browser, address: str) -> str:
    answer = browser.get(address)
    assert answer.status_code == 200, answer.text
    return unescape(answer.text)


def address_of(text: str, label: str) -> str:
    """The address of the link with a text."""
    assert f">{label}</a>" in text
    return text.split(f">{label}</a>", maxsplit=1)[0].rpartition('href="')[2].partition('"')[0]


@together(
    ("name", "wanted"),
    [
        ("postalCode", "Postal code"),
        ("addressLine1", "Address line 1"),
        ("name2", "Name 2"),
        ("id", "Id"),
        ("VATNumber", "VAT number"),
        ("taxAreaID", "Tax area ID"),
        ("straßenName", "Straßen name"),
        ("payment_terms", "Payment terms"),
        ("_", "_"),
    ],
)
def test_a_name_as_words(name: str, wanted: str) -> None:
    assert words(name) == wanted


def test_values_are_shown_as_people_read_them(browser: Browser, specimens: Company) -> None:
    stock(specimens)
    at = str(specimens.record(f"contactsExt({CONTACT})")["lastModifiedDateTime"])

    shown = page(browser, specimens, "contactsExt/record", CONTACT)

    assert 'Contact business relation <code class="name">contactBusinessRelation</code>' in shown
    assert f'<time datetime="{at}">{at[:10]} {at[11:16]} UTC</time>' in shown
    assert "<bdi>Yes</bdi>" in shown
    assert "correct horse" not in shown
    specimens.load("contactsExt", {"number": "X", "city": "Graz", "displayName": "X"})
    [other] = specimens.listed("contactsExt", {"$filter": "number eq 'X'"})
    shown = page(browser, specimens, "contactsExt/record", str(other["id"]))
    filled, _, blank = shown.partition("without a value")
    assert 'class="name">city</code>' in filled
    assert 'class="name">addressLine2</code>' in blank


def test_numbers_have_their_exact_value(browser: Browser, specimens: Company) -> None:
    specimens.load("salesPricesExt", {"entryNo": 1, "assetType": "Item", "unitPrice": 12345.67})

    shown = page(browser, specimens, "salesPricesExt/record", "1")

    assert '<data value="12345.67">12345.67</data>' in shown


def test_what_a_value_names_is_a_link_with_its_name(browser: Browser, specimens: Company) -> None:
    names = ("number", "type", "displayName", "companyNumber")
    for values in (
        ("C1", "Person", "not this", ""),
        ("C2", "Company", "Mill <b> & Sons", ""),
        ("P", "Person", "Keeper", "C2"),
        ("Q", "Person", "Nobody's", "C1"),
    ):
        specimens.load("contactsExt", dict(zip(names, values, strict=True)))
    keys = {each["number"]: str(each["id"]) for each in specimens.listed("contactsExt")}

    shown = page(browser, specimens, "contactsExt/record", keys["P"])
    other = page(browser, specimens, "contactsExt/record", keys["Q"])

    assert "</bdi></a> Mill <b> & Sons" in shown
    named = opened(browser, address_of(shown, "<bdi>C2</bdi>"))
    assert "<h1>Contact C2 " in named
    assert "<bdi>C1</bdi></a>" not in other


def test_related_records_are_counted_and_lead_back(browser: Browser, specimens: Company) -> None:
    specimens.load("itemsExt", {"number": "I'1", "displayName": "Chair"})
    texts = [{"itemNo": "I'1", "languageCode": code} for code in ("DEU", "FRA")]
    specimens.load("itemTranslationsExt", *texts, {"itemNo": "I2", "languageCode": "DEU"})
    [item] = specimens.listed("itemsExt")

    def counted() -> str | None:
        # a busy machine may not count in time
        text = page(browser, specimens, "itemsExt/record", str(item["id"]))
        return text if ">Translations</a> 2" in text and ">Prices</a> 0" in text else None

    shown = until(counted, "the number of each record's relations")
    listed = opened(browser, address_of(shown, "Translations"))
    assert listed.count('<th scope="row"') == 2
    [text, _] = specimens.listed("itemTranslationsExt", {"$filter": "itemNo eq 'I''1'"})
    back = page(browser, specimens, "itemTranslationsExt/record", str(text["id"]))
    assert "<bdi>I'1</bdi></a> Chair" in back


def test_a_record_as_json(browser: Browser, specimens: Company) -> None:
    stock(specimens)

    document = opened(
        browser, address_of(page(browser, specimens, "contactsExt/record", CONTACT), "As JSON")
    )

    assert '"displayName":"Annette Hill"' in document
    assert "onlinePassword" not in document


@ON_SQLITE
def test_a_viewer_reads_and_is_offered_nothing_else(
    specimen_service: Service, specimens: Company
) -> None:
    stock(specimens)
    viewer = logged_in(specimen_service, ConsoleRole.VIEWER)

    shown = page(viewer, specimens, "contactsExt/record", CONTACT)

    assert ">History</a>" in shown
    assert ">Edit</a>" not in shown
    assert "Delete…" not in shown
    listed = opened(viewer, f"/console/records/contactsExt?company={specimens.id}")
    assert ">New</a>" not in listed
