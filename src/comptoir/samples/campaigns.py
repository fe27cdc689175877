"""The campaigns: one after another, from early 2025 into 2027."""

from collections.abc import Iterator
from datetime import date, timedelta

from comptoir.samples.cells import AS_OF, Row, flag
from comptoir.samples.world import World, campaign_number

COLUMNS = (
    "id",
    "number",
    "description",
    "startingDate",
    "endingDate",
    "statusCode",
    "activated",
)

_FIRST_DAY = date(2025, 3, 1)
_SPAN = 730
_PLANNED_AHEAD = timedelta(days=60)
_SEASONS = ("Winter", "Spring", "Summer", "Autumn")
_THEMES = (
    "lighting days",
    "office refresh",
    "clearance",
    "home textiles",
    "oak weeks",
    "trade fair offer",
    "loyalty offer",
    "new arrivals",
    "table setting",
    "storage solutions",
)


def rows(world: World) -> Iterator[Row]:
    """Every campaign, in the order in which they start."""
    count = world.counts.campaigns
    for position in range(count):
        dice = world.dice("campaign", position)
        first = _FIRST_DAY + timedelta(days=position * _SPAN // count)
        last = first + timedelta(days=dice.between(6, 60))
        status = _status(first, last)
        season = _SEASONS[first.month % 12 // 3]
        yield (
            world.guid("campaign", position),
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
    return "SCHEDULED" if first <= AS_OF + _PLANNED_AHEAD else "INIT"
