"""The document from which requests are generated describes Decimals exactly."""

from decimal import Decimal

import jsonschema_rs
from hypothesis import example, given
from hypothesis import strategies as st

from comptoir.edm.numbers import DECIMAL, MOST_DECIMAL, UNIT
from comptoir.edm.types import EdmError
from contract.document import with_exact_decimals

VALIDATOR = jsonschema_rs.validator_for(
    with_exact_decimals({"type": "object", "properties": {"amount": DECIMAL.json_schema}})
)


@given(
    st.one_of(
        st.floats(allow_nan=False, allow_infinity=False),
        st.integers(-2 * MOST_DECIMAL, 2 * MOST_DECIMAL).map(lambda stored: stored / UNIT),
    )
)
@example(33.6442)
@example(-3.491145289141075e-07)
@example(1e13)
def test_described_decimals_are_those_that_the_service_accepts(number: float) -> None:
    assert VALIDATOR.is_valid({"amount": number}) == _accepts(number)


def _accepts(number: float) -> bool:
    try:
        DECIMAL.from_json(Decimal(repr(number)))
    except EdmError:
        return False
    return True
