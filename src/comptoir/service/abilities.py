"""What clients are told of the verbs, by those who know them."""

from comptoir.auth import Scope
from comptoir.config import Settings
from comptoir.metadata.abilities import Abilities
from comptoir.plan.apply import TRANSFORMATIONS, methods_of
from comptoir.plan.expressions.functions import SUPPORTED


def abilities(settings: Settings) -> Abilities:
    """What the service is able to, with some settings."""
    return Abilities(
        filter_functions=tuple(sorted(SUPPORTED)),
        transformations=TRANSFORMATIONS,
        methods_of=methods_of,
        expand_levels=settings.expand_depth,
        read_scope=Scope.RECORDS_READ.value,
        write_scope=Scope.RECORDS_WRITE.value,
    )
