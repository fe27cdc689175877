"""The countries of sample addresses.

Phone numbers are in the ranges that a country reserves for fiction, where there are any.
"""

# ruff: noqa: RUF001 - each country is written in its own letters

from dataclasses import dataclass
from enum import StrEnum

from mimesis.locales import Locale


class Zone(StrEnum):
    """The distance of a country, which decides posting groups and responsibility centers."""

    DOMESTIC = "DOMESTIC"
    EU = "EU"
    EXPORT = "EXPORT"


RESPONSIBILITY_CENTERS = {Zone.DOMESTIC: "HOME", Zone.EU: "EUROPE", Zone.EXPORT: "WORLD"}


@dataclass(frozen=True, slots=True)
class Country:
    """A country: its codes (ISO 3166, ISO 4217, language), the source of its words, its formats.

    `weight` is its relative frequency. `phone`, `mobile`, `postal` and `tax_number` are templates
    of `values.Form`. `streets` are formatted with street, number and floor, `companies` with the
    surnames a and b, and `person` with first and last. `places` are city, state and template of the
    postal code, for a country whose states in mimesis do not match its cities.
    """

    code: str
    currency: str
    language: str
    locale: Locale
    zone: Zone
    weight: int
    phone: str
    mobile: str
    postal: str
    tax_number: str
    streets: tuple[str, ...]
    companies: tuple[str, ...]
    person: str = "{first} {last}"
    places: tuple[tuple[str, str, str], ...] = ()


_US_PLACES = (
    ("Albany", "NY", "122##"), ("Albuquerque", "NM", "871##"), ("Atlanta", "GA", "303##"),
    ("Austin", "TX", "787##"), ("Boise", "ID", "837##"), ("Boston", "MA", "021##"),
    ("Boulder", "CO", "803##"), ("Buffalo", "NY", "142##"), ("Charleston", "SC", "294##"),
    ("Chicago", "IL", "606##"), ("Cincinnati", "OH", "452##"), ("Denver", "CO", "802##"),
    ("Des Moines", "IA", "503##"), ("Fresno", "CA", "937##"), ("Houston", "TX", "770##"),
    ("Kansas City", "MO", "641##"), ("Madison", "WI", "537##"), ("Memphis", "TN", "381##"),
    ("Minneapolis", "MN", "554##"), ("New Orleans", "LA", "701##"), ("Omaha", "NE", "681##"),
    ("Philadelphia", "PA", "191##"), ("Phoenix", "AZ", "850##"), ("Portland", "OR", "972##"),
    ("Raleigh", "NC", "276##"), ("Richmond", "VA", "232##"), ("Salt Lake City", "UT", "841##"),
    ("San Diego", "CA", "921##"), ("Seattle", "WA", "981##"), ("Tampa", "FL", "336##"),
)  # fmt: skip

_GERMAN_COMPANIES = (
    "Möbelhaus {a} GmbH",
    "{a} Bürobedarf GmbH",
    "Lichtstudio {a}",
    "{a} & {b} Wohnbedarf OHG",
    "Handelshaus {a} AG",
)

COUNTRIES = (
    Country(
        "DE", "EUR", "DEU", Locale.DE, Zone.DOMESTIC, weight=8,
        phone="+49 30 23125###", mobile="+49 171 39200##",
        postal="#####", tax_number="DE#########",
        streets=("{street} {number}",),
        companies=_GERMAN_COMPANIES,
    ),
    Country(
        "AT", "EUR", "DEA", Locale.DE_AT, Zone.EU, weight=3,
        phone="+43 1 5550###", mobile="+43 660 5550###",
        postal="####", tax_number="ATU########",
        streets=("{street} {number}", "{street} {number}/{floor}"),
        companies=_GERMAN_COMPANIES,
    ),
    Country(
        "CH", "CHF", "DES", Locale.DE_CH, Zone.EXPORT, weight=3,
        phone="+41 44 555 0# ##", mobile="+41 79 555 0# ##",
        postal="####", tax_number="CHE-###.###.### MWST",
        streets=("{street} {number}",),
        companies=("{a} Einrichtungen AG", "Möbel {a} AG", "{a} & {b} GmbH", "{a} Bürotechnik AG"),
    ),
    Country(
        "FR", "EUR", "FRA", Locale.FR, Zone.EU, weight=5,
        phone="+33 1 99 00 ## ##", mobile="+33 6 39 98 ## ##",
        postal="#####", tax_number="FR##########0",
        streets=("{number} Rue {street}", "{number} Avenue {street}", "{number} Place {street}"),
        companies=("Meubles {a} SARL", "{a} et Fils SA", "Maison {a}", "{a} Luminaires SAS"),
    ),
    Country(
        "NL", "EUR", "NLD", Locale.NL, Zone.EU, weight=4,
        phone="+31 20 555 0###", mobile="+31 6 5550 ####",
        postal="1### @@", tax_number="NL#########B01",
        streets=("{street} {number}",),
        companies=("{a} Meubelen B.V.", "{a} & Zonen", "Kantoorhuis {a} B.V.", "{a} Interieur"),
    ),
    Country(
        "BE", "EUR", "NLB", Locale.NL_BE, Zone.EU, weight=2,
        phone="+32 9 555 0# ##", mobile="+32 470 55 0# ##",
        postal="####", tax_number="BE0#########",
        streets=("{street} {number}", "{street} {number} bus {floor}"),
        companies=("{a} Meubelen BV", "{a}-{b} NV", "Woonwinkel {a}", "{a} Projectinrichting NV"),
    ),
    Country(
        "ES", "EUR", "ESP", Locale.ES, Zone.EU, weight=4,
        phone="+34 910 555 0##", mobile="+34 655 550 ###",
        postal="#####", tax_number="ESB########",
        streets=("{street}, {number}", "{street}, {number}, {floor}º"),
        companies=("Muebles {a} S.L.", "{a} y {b} S.A.", "Hermanos {a} S.L.", "Comercial {a}"),
    ),
    Country(
        "IT", "EUR", "ITA", Locale.IT, Zone.EU, weight=4,
        phone="+39 06 5550 ####", mobile="+39 347 555 0###",
        postal="#####", tax_number="IT##########0",
        streets=("Via {street}, {number}", "Viale {street}, {number}",
                 "Piazza {street}, {number}"),
        companies=("Arredamenti {a} S.r.l.", "{a} & Figli S.p.A.", "Casa {a}", "{a} Luce S.r.l."),
    ),
    Country(
        "GB", "GBP", "ENG", Locale.EN_GB, Zone.EXPORT, weight=5,
        phone="+44 1632 960###", mobile="+44 7700 900###",
        postal="@@# #@@", tax_number="GB#########",
        streets=("{number} {street} Road", "{number} {street} Lane", "{number} {street} Close"),
        companies=("{a} & Sons Ltd", "{a} {b} Interiors Ltd", "{a} Office Supplies Ltd",
                   "{a} plc"),
    ),
    Country(
        "SE", "SEK", "SVE", Locale.SV, Zone.EU, weight=2,
        phone="+46 8 465 004 ##", mobile="+46 70 174 06 ##",
        postal="### ##", tax_number="SE##########01",
        streets=("{street} {number}",),
        companies=("{a} Möbler AB", "{a} & {b} AB", "{a} Kontor AB", "Belysning {a} HB"),
    ),
    Country(
        "DK", "DKK", "DAN", Locale.DA, Zone.EU, weight=2,
        phone="+45 55 50 ## ##", mobile="+45 25 50 ## ##",
        postal="####", tax_number="DK########",
        streets=("{street} {number}", "{street} {number}, {floor}. th."),
        companies=("{a} Møbler A/S", "{a} & Søn ApS", "{a} Bolig ApS", "{a} Kontor A/S"),
    ),
    Country(
        "PL", "PLN", "PLK", Locale.PL, Zone.EU, weight=3,
        phone="+48 22 555 0# ##", mobile="+48 555 0## ###",
        postal="##-###", tax_number="PL##########",
        streets=("ul. {street} {number}", "ul. {street} {number}/{floor}",
                 "al. {street} {number}"),
        companies=("Meble {a} Sp. z o.o.", "{a} i {b} Sp.j.", "Hurtownia {a}", "{a} Biuro S.A."),
    ),
    Country(
        "CZ", "CZK", "CSY", Locale.CS, Zone.EU, weight=2,
        phone="+420 255 550 ###", mobile="+420 605 550 ###",
        postal="### ##", tax_number="CZ########",
        streets=("{street} {number}",),
        companies=("Nábytek {a} s.r.o.", "{a} a syn s.r.o.", "{a} Interiéry a.s.",
                   "Velkoobchod {a}"),
    ),
    Country(
        "GR", "EUR", "ELL", Locale.EL, Zone.EU, weight=2,
        phone="+30 21 0555 0###", mobile="+30 69 5550 ####",
        postal="### ##", tax_number="EL#########",
        streets=("{street} {number}",),
        companies=("Έπιπλα {a} Α.Ε.", "{a} & Υιοί Ο.Ε.", "Φωτιστικά {a}", "{a} Εμπορική Ε.Π.Ε."),
    ),
    Country(
        "UA", "UAH", "UKR", Locale.UK, Zone.EXPORT, weight=2,
        phone="+380 44 555 0###", mobile="+380 50 555 0###",
        postal="#####", tax_number="##########",
        streets=("вул. {street}, {number}", "просп. {street}, {number}"),
        companies=("ТОВ «Меблі {a}»", "ПП «{a} і {b}»", "ТОВ «Світло {a}»"),
    ),
    Country(
        "TR", "TRY", "TRK", Locale.TR, Zone.EXPORT, weight=2,
        phone="+90 212 555 0# ##", mobile="+90 505 555 0# ##",
        postal="#####", tax_number="##########",
        streets=("{street} Caddesi No: {number}", "{street} Sokağı No: {number}/{floor}"),
        companies=("{a} Mobilya A.Ş.", "{a} Ticaret Ltd. Şti.", "{a} Aydınlatma A.Ş."),
    ),
    Country(
        "AE", "AED", "ARU", Locale.AR_AE, Zone.EXPORT, weight=2,
        phone="+971 4 555 0###", mobile="+971 50 555 0###",
        postal="", tax_number="100##########03",
        streets=("شارع {street} {number}", "{number} شارع {street}"),
        companies=("شركة {a} للأثاث", "مؤسسة {a} التجارية", "{a} وشركاه ذ.م.م",
                   "معرض {a} للإنارة"),
    ),
    Country(
        "US", "USD", "ENU", Locale.EN, Zone.EXPORT, weight=6,
        phone="+1 2##-555-01##", mobile="+1 3##-555-01##",
        postal="#####", tax_number="##-#######",
        streets=("{number} {street} Street", "{number} {street} Avenue",
                 "{number} {street} Drive"),
        companies=("{a} Furniture Inc.", "{a} & {b} LLC", "{a} Office Supply Co.",
                   "{a} Home Outfitters", "{a} Lighting Inc."),
        places=_US_PLACES,
    ),
    Country(
        "BR", "BRL", "PTB", Locale.PT_BR, Zone.EXPORT, weight=2,
        phone="+55 11 5550-####", mobile="+55 11 95550-####",
        postal="#####-###", tax_number="########/0001-##",
        streets=("{street}, {number}", "{street}, {number}, Sala {floor}"),
        companies=("Móveis {a} Ltda.", "Irmãos {a} S.A.", "{a} & {b} Comércio Ltda.", "Casa {a}"),
    ),
    Country(
        "JP", "JPY", "JPN", Locale.JA, Zone.EXPORT, weight=3,
        phone="+81 3-5550-####", mobile="+81 90-5550-####",
        postal="###-####", tax_number="T##########000",
        streets=("{street}{floor}丁目{number}番",),
        companies=("{a}{b}家具株式会社", "株式会社{a}{b}商店", "有限会社{a}{b}照明"),
        person="{last} {first}",
    ),
    Country(
        "CN", "CNY", "CHS", Locale.ZH, Zone.EXPORT, weight=3,
        phone="+86 10 5550 ####", mobile="+86 139 5550 ####",
        postal="######", tax_number="91##########MA0X3Y",
        streets=("{street}路{number}号", "{street}大街{number}号{floor}室"),
        companies=("{a}氏家具有限公司", "{a}记办公用品有限公司", "{a}{b}照明股份有限公司"),
        person="{last}{first}",
    ),
    Country(
        "KR", "KRW", "KOR", Locale.KO, Zone.EXPORT, weight=2,
        phone="+82 2-555-0###", mobile="+82 10-5550-####",
        postal="#####", tax_number="###-##-#####",
        streets=("{street}로 {number}", "{street}길 {number}"),
        companies=("{a}가구 주식회사", "주식회사 {a}{b}조명", "{a}상사", "주식회사 {a}오피스"),
        person="{last}{first}",
    ),
)  # fmt: skip
"""The countries of sample addresses; the company's own is the first."""
