"""The units of measure, with their codes of UN/ECE Recommendations 20 and 21."""

from collections.abc import Iterator

from comptoir.samples.cells import Row, past_moment
from comptoir.samples.world import World

COLUMNS = ("code", "displayName", "internationalStandardCode", "symbol", "lastModifiedDateTime")

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


def rows(world: World) -> Iterator[Row]:
    """Every unit; the same at every size."""
    for position, unit in enumerate(_UNITS):
        yield *unit, past_moment(world.dice("unit of measure", position))
