"""The binding context: what the names in a request's expressions are bound against."""

import msgspec

from comptoir.edm.model import EntitySet, Model
from comptoir.plan.read import Computed
from comptoir.plan.rights import Readable
from comptoir.profiles.record import FilterRules
from comptoir.profiles.standard import ODATA
from comptoir.request.aliases import parse_aliases, resolve
from comptoir.request.expression.parser import ExpressionLimits
from comptoir.request.expression.tree import Node

AliasTexts = tuple[tuple[str, str], ...]
"""Parameter aliases: names without the `@`, and the texts of their expressions."""


class BindingContext(msgspec.Struct, frozen=True, cache_hash=True):
    """The entity set of a model, limits, computed properties and parameter aliases.

    `nested`: the expressions are within `$expand`, so `$it` is not the record that they are about.
    `readable` are the sets whose records the expressions may use. It is a part of the context so
    that what is bound for one client is never taken from a cache for another one, and so is the
    `dialect`.
    """

    model: Model
    entity_set: EntitySet
    limits: ExpressionLimits
    computed: Computed = ()
    aliases: AliasTexts = ()
    nested: bool = False
    readable: Readable = None
    dialect: FilterRules = ODATA

    def resolve_aliases(self, node: Node, text: str) -> Node:
        """Replace the aliases in an expression by their values; raises `Refusal` (400)."""
        if "@" not in text:
            return node
        return resolve(node, parse_aliases(self.aliases, self.limits), self.limits)
