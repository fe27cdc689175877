"""What clients are told of the verbs, by those who know them."""

from comptoir.auth import Scope
from comptoir.metadata.abilities import Abilities
from comptoir.plan.functions import SUPPORTED

EXPAND_LEVELS = 5
"""How deep `$expand` may nest."""

ABILITIES = Abilities(
    filter_functions=tuple(sorted(SUPPORTED)),
    expand_levels=EXPAND_LEVELS,
    read_scope=Scope.RECORDS_READ.value,
    write_scope=Scope.RECORDS_WRITE.value,
)
