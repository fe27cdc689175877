"""The JSON of records: it outlives a release, so its encoding is fixed by its version."""

from comptoir.edm.model import EntityType, Property
from comptoir.edm.numbers import DECIMAL, INT32
from comptoir.edm.record_json import ENCODING, RecordEncoder
from comptoir.edm.times import DATE, INSTANT
from comptoir.edm.types import BOOLEAN, CODE, GUID, Stored

VALUES: dict[str, tuple[Property, str]] = {
    "id": (Property("id", GUID), "c0ffee00-0000-4000-8000-000000000001"),
    "code": (Property("code", CODE), 'Ä"\\\n'),
    "open": (Property("open", BOOLEAN), "true"),
    "rank": (Property("rank", INT32), "-7"),
    "price": (Property("price", DECIMAL), "12.50000"),
    "day": (Property("day", DATE), "2024-02-29"),
    "at": (Property("at", INSTANT), "2024-02-29T12:00:00Z"),
}
TYPE = EntityType("specimen", "One of each.", tuple([each for each, _ in VALUES.values()]))
ROW: list[Stored] = [57, *[each.type.from_text(text) for each, text in VALUES.values()]]
ENCODED = (
    b'57\\"","id":"c0ffee00-0000-4000-8000-000000000001","code":"\xc3\x84\\"\\\\\\n","open":true,'
    b'"rank":-7,"price":12.5,"day":"2024-02-29","at":"2024-02-29T12:00:00.000Z"'
)


def test_a_changed_encoding_has_another_version() -> None:
    """If this fails, the encoding has changed: raise `ENCODING`, and correct the expectation."""
    assert (ENCODING, RecordEncoder(TYPE).encode(ROW)) == (1, ENCODED)


def test_the_values_of_properties_are_those_that_were_encoded() -> None:
    encoder = RecordEncoder(TYPE)
    encoded = encoder.encode(ROW)
    assert encoder.values(encoded, list(VALUES)) == tuple(ROW[1:])
    assert encoder.values(encoded, ["price", "code"]) == (ROW[5], ROW[2])


def test_another_property_is_another_layout() -> None:
    fewer = EntityType("specimen", "One less.", TYPE.properties[:-1])
    assert RecordEncoder(fewer).layout != RecordEncoder(TYPE).layout


def test_a_value_that_is_no_longer_accepted_is_read() -> None:
    """A page continues after such a value, as it does in other formats."""
    encoder = RecordEncoder(EntityType("noted", "A code.", (Property("code", CODE),)))
    long = "x" * 101
    assert encoder.values(encoder.encode((57, long)), ["code"]) == (long,)
