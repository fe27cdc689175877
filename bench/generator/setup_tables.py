"""Units of measure, shipping agents and campaigns."""

from collections.abc import Iterator
from datetime import date, timedelta
from itertools import islice, product

from generator.blueprint import Blueprint, Table, campaign_number
from generator.values import AS_OF, Row, flag, past_instant

# the codes of UN/ECE Recommendations 20 and 21
_UNITS = (
    ("PCS", "Piece", "C62", "pcs"),
    ("BOX", "Box", "BX", "box"),
    ("CM", "Centimetre", "CMT", "cm"),
    ("DAY", "Day", "DAY", "d"),
    ("DOZEN", "Dozen", "DZN", "dz"),
    ("G", "Gram", "GRM", "g"),
    ("HOUR", "Hour", "HUR", "h"),
    ("KG", "Kilogram", "KGM", "kg"),
    ("KM", "Kilometre", "KMT", "km"),
    ("L", "Litre", "LTR", "l"),
    ("M", "Metre", "MTR", "m"),
    ("M2", "Square metre", "MTK", "m²"),
    ("MONTH", "Month", "MON", "mo"),
    ("PACK", "Pack", "PK", "pk"),
    ("PAIR", "Pair", "PR", "pr"),
    ("PALLET", "Pallet", "PX", "plt"),
    ("SET", "Set", "SET", "set"),
    ("T", "Tonne", "TNE", "t"),
)

_SERVICES = (
    ("EXP", "Express"),
    ("FRT", "Freight"),
    ("PAR", "Parcel"),
    ("SEA", "Ocean Freight"),
    ("AIR", "Air Cargo"),
)
# carriers that do not exist
_CARRIERS = (
    ("NORDBAY", "Nordbay"),
    ("GREYHERON", "Grey Heron"),
    ("LANTERN", "Lantern Line"),
    ("QUAYSTONE", "Quaystone"),
    ("OAKROAD", "Oak Road"),
    ("TIDEMARK", "Tidemark"),
    ("MILLPOST", "Millpost"),
    ("VALECROSS", "Valecross"),
    ("REDMOOR", "Redmoor"),
    ("SALTHORN", "Salthorn"),
    ("BRIGHTFEN", "Brightfen"),
    ("COPPERLEA", "Copperlea"),
)

_FIRST_DAY = date(2025, 3, 1)
_SPAN = 730
_SCHEDULED_DAYS = timedelta(days=60)
_SEASONS = ("Winter", "Spring", "Summer", "Autumn")
_THEMES = (
    "lighting days", "office refresh", "clearance", "home textiles", "oak weeks",
    "trade fair offer", "loyalty offer", "new arrivals", "table setting", "storage solutions",
)  # fmt: skip


def _units(source: Blueprint) -> Iterator[Row]:
    for position, unit in enumerate(_UNITS):
        yield *unit, past_instant(source.dice("unit of measure", position))


def _shipping_agents(source: Blueprint) -> Iterator[Row]:
    """The offers of the carriers, whose codes have the ten characters of Business Central."""
    offers = islice(product(_SERVICES, _CARRIERS), source.counts.shipping_agents)
    for (service_code, service), (carrier_code, carrier) in offers:
        yield (
            source.guid("shipping agent", f"{carrier_code}-{service_code}"),
            f"{carrier_code[:6]}-{service_code}",
            f"{carrier} {service}",
        )


def _campaigns(source: Blueprint) -> Iterator[Row]:
    """The campaigns by their first day, from March 2025 to 2027."""
    count = source.counts.campaigns
    for position in range(count):
        dice = source.dice("campaign", position)
        first = _FIRST_DAY + timedelta(days=position * _SPAN // count)
        last = first + timedelta(days=dice.between(6, 60))
        status = _status(first, last)
        season = _SEASONS[first.month % 12 // 3]
        yield (
            source.guid("campaign", position),
            campaign_number(position),
            f"{season} {dice.pick(_THEMES)} {first.year}",
            first.isoformat(),
            last.isoformat(),
            status,
            flag(status == "STARTED"),
        )


def _status(first: date, last: date) -> str:
    if last < AS_OF:
        return "DONE"
    if first <= AS_OF:
        return "STARTED"
    return "SCHEDULED" if first <= AS_OF + _SCHEDULED_DAYS else "INIT"


UNITS_OF_MEASURE = Table(
    "unitsOfMeasureExt",
    ("code", "displayName", "internationalStandardCode", "symbol", "lastModifiedDateTime"),
    _units,
)
SHIPPING_AGENTS = Table("shippingAgentsExt", ("id", "code", "name"), _shipping_agents)
CAMPAIGNS = Table(
    "campaignsExt",
    ("id", "number", "description", "startingDate", "endingDate", "statusCode", "activated"),
    _campaigns,
)
