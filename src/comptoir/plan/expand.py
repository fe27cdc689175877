"""`$expand` bound to a kind (OData URL Conventions 4.01, section 5.1.3)."""

import msgspec

from comptoir.edm.entity import NavigationProperty
from comptoir.edm.model import EntitySet
from comptoir.plan.pages import Page
from comptoir.request.options import QueryOptions


class Expansion(msgspec.Struct, frozen=True):
    """Related records that stand within a record.

    `form` is `entities`, `ref` or `count`; `page` says which related records, in which order;
    `names` are the properties to show, None for all; `inner` stands within the related records.
    """

    navigation: NavigationProperty
    entity_set: EntitySet
    form: str
    options: QueryOptions
    page: Page
    names: tuple[str, ...] | None
    inner: tuple["Expansion", ...]
