"""`$apply`: transformations."""

import pytest

from comptoir.errors.refusal import Refusal
from comptoir.request.apply import parse_apply
from comptoir.request.expression.parser import ExpressionLimits


def test_limits_apply_to_all_transformations_together() -> None:
    text = "filter(a eq 1)/compute(b as c)"
    assert parse_apply(text, ExpressionLimits(nodes=4))
    with pytest.raises(Refusal, match="exceeds the limit of 3 parts"):
        parse_apply(text, ExpressionLimits(nodes=3))
    with pytest.raises(Refusal, match="exceeds the limit of 3 parts"):
        parse_apply("/".join(["identity"] * 4), ExpressionLimits(nodes=3))


def test_groups_nest_as_deep_as_the_limit() -> None:
    limits = ExpressionLimits(depth=5)
    assert parse_apply("groupby((a)," * 5 + "identity" + ")" * 5, limits)
    for depth in (6, 1300):
        with pytest.raises(Refusal, match="exceeds the limit of 5 levels"):
            parse_apply("groupby((a)," * depth + "identity" + ")" * depth, limits)
    deepest = "groupby((a)," * 100 + "identity" + ")" * 100
    assert parse_apply(deepest)
