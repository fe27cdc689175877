"""Related records: those to which navigation leads from many records at once."""

import msgspec

from comptoir.edm.entity import NavigationProperty
from comptoir.edm.primitive import Stored
from comptoir.plan.read import PagePlan


class RelatedPlan(msgspec.Struct, frozen=True):
    """The records that a navigation property relates to records with some values.

    `values` are those of the property from which it leads, without blanks and repetitions; `page`
    says which related records count and in which order, of each value the first `limit` behind
    those that it skips.
    """

    navigation: NavigationProperty
    page: PagePlan
    values: tuple[Stored, ...]
    limit: int
