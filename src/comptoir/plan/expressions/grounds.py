"""What the expressions of a request are bound on."""

import msgspec

from comptoir.edm.model import EntitySet, Model
from comptoir.plan.read import Computed
from comptoir.request.aliases import parse_aliases, resolve
from comptoir.request.expression import ExpressionLimits
from comptoir.request.expression.tree import Node

AliasTexts = tuple[tuple[str, str], ...]
"""Parameter aliases: names without the `@`, and what stands for them."""


class Grounds(msgspec.Struct, frozen=True, cache_hash=True):
    """A set of a model, the limits, names computed beside the properties, parameter aliases.

    `nested`: the expressions stand within `$expand`, about other records than the request is.
    """

    model: Model
    entity_set: EntitySet
    limits: ExpressionLimits
    computed: Computed = ()
    aliases: AliasTexts = ()
    nested: bool = False

    def of(self, text: str) -> "Grounds":
        """The same for a text, without aliases if it names none."""
        if not self.aliases or "@" in text:
            return self
        return msgspec.structs.replace(self, aliases=())

    def resolved(self, node: Node, text: str) -> Node:
        """A node with what its aliases stand for in their places; raises `Refusal` (400)."""
        if "@" not in text:
            return node
        return resolve(node, parse_aliases(self.aliases, self.limits), self.limits)
