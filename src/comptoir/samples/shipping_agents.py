"""The shipping agents: carriers that do not exist."""

from collections.abc import Iterator
from itertools import product

from comptoir.samples.cells import Row
from comptoir.samples.world import World

COLUMNS = ("id", "code", "name")

_SERVICES = (
    ("EXP", "Express"),
    ("FRT", "Freight"),
    ("PAR", "Parcel"),
    ("SEA", "Ocean Freight"),
    ("AIR", "Air Cargo"),
)
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


def rows(world: World) -> Iterator[Row]:
    """The first so many services of the carriers, each service of all carriers in turn."""
    offers = [
        (f"{carrier_code}-{code}", f"{carrier} {service}")
        for (code, service), (carrier_code, carrier) in product(_SERVICES, _CARRIERS)
    ]
    for code, name in offers[: world.counts.shipping_agents]:
        yield world.guid("shipping agent", code), code, name
