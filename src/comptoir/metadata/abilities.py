"""What clients are told of the interface that the model does not say."""

from collections.abc import Callable
from dataclasses import dataclass

from comptoir.edm.types import PrimitiveType


@dataclass(frozen=True, slots=True)
class Abilities:
    """Facts about the interface, handed in by the stations that make them true.

    `filter_functions`: the canonical functions of `$filter`. `transformations`: those of `$apply`;
    `methods_of` a type: how its values are aggregated. `expand_levels`: how deep `$expand` may
    nest. `read_scope` and `write_scope`: what a token needs for records.
    """

    filter_functions: tuple[str, ...]
    transformations: tuple[str, ...]
    methods_of: Callable[[PrimitiveType], tuple[str, ...]]
    expand_levels: int
    read_scope: str
    write_scope: str
