"""`$filter` bound to a set's kind."""

from comptoir.plan.bound import Junction, Value
from comptoir.plan.expressions.binder import Binder
from comptoir.plan.expressions.computes import computed_names
from comptoir.plan.expressions.grounds import Grounds
from comptoir.plan.expressions.lengths import Lengths
from comptoir.plan.expressions.pairs import PairBinder
from comptoir.plan.faults import FILTER
from comptoir.plan.read import Where
from comptoir.request.expression import parse_expression


def bind_filter(grounds: Grounds, text: str) -> Where:
    """The condition that a `$filter` means for a set's records.

    Raises `Refusal`: 400 with the place of the fault, 501 for what is not supported.
    """
    node = grounds.resolved(parse_expression(text, grounds.limits, FILTER), text)
    pair_filter = grounds.entity_set.pair_filter
    names = computed_names(grounds.computed)
    binder = Binder(grounds.model, grounds.entity_set, FILTER, names, nested=grounds.nested)
    if pair_filter is None:
        condition = binder.condition(node).value
        _check_lengths(grounds, condition, binder)
        return Where(condition, tuple(binder.slots.values))
    pairs = PairBinder(pair_filter)
    conditions: list[Value] = [binder.condition(other).value for other in pairs.split(node)]
    conditions += pairs.bind(binder.slots)
    condition = conditions[0] if len(conditions) == 1 else Junction("and", tuple(conditions))
    _check_lengths(grounds, condition, binder)
    return Where(condition, tuple(binder.slots.values))


def _check_lengths(grounds: Grounds, condition: Value, binder: Binder) -> None:
    lengths = Lengths(grounds.model, FILTER, binder.slots.values, grounds.computed)
    lengths.longest(condition, 0)
