"""Random values: repeatable, and evenly distributed."""

import re
from collections import Counter
from uuid import UUID

from hypothesis import given, settings
from hypothesis import strategies as st

from comptoir.samples.values import Dice, Form, guid
from support.effort import examples


@settings(max_examples=examples(100))
@given(st.integers(), st.text(), st.integers(0, 10**9), st.integers(1, 2**48))
def test_values_are_below_their_limit_and_repeatable(
    seed: int, kind: str, position: int, limit: int
) -> None:
    kind = kind.encode("utf-8", "replace").decode()
    dice, same = Dice(seed, kind, position), Dice(seed, kind, position)
    drawn = [dice.below(limit) for _ in range(50)]

    assert all(0 <= each < limit for each in drawn)
    assert drawn == [same.below(limit) for _ in range(50)]


def test_values_are_evenly_distributed_within_a_record_and_across_records() -> None:
    dice = Dice(1, "test", 0)
    within = Counter(dice.below(6) for _ in range(6_000))
    across = Counter(Dice(1, "test", position).below(6) for position in range(6_000))

    for faces in (within, across):
        assert faces.keys() == set(range(6))
        assert all(850 < count < 1_150 for count in faces.values())


def test_the_values_depend_on_seed_kind_and_position() -> None:
    first = [Dice(*at).below(2**48) for at in ((1, "a", 1), (2, "a", 1), (1, "b", 1), (1, "a", 2))]

    assert len(set(first)) == 4


def test_between_includes_both_limits() -> None:
    dice = Dice(1, "test", 0)

    assert {dice.between(3, 5) for _ in range(100)} == {3, 4, 5}


def test_a_chance_of_0_and_of_100_percent() -> None:
    dice = Dice(1, "test", 0)

    assert {dice.chance(0) for _ in range(200)} == {False}
    assert {dice.chance(100) for _ in range(200)} == {True}


def test_a_form_fills_its_marks_and_keeps_the_other_characters() -> None:
    form = Form("+44 % #### @@")
    filled = {form.fill(Dice(1, "test", position)) for position in range(50)}

    assert len(filled) > 40
    assert all(re.fullmatch(r"\+44 % [0-9]{4} [A-Z]{2}", text) for text in filled)


def test_a_guid_is_a_uuid_of_version_8() -> None:
    """RFC 9562, section 5.8."""
    found = guid(1, "contact", 5)

    assert UUID(found).version == 8
    assert str(UUID(found)) == found == guid(1, "contact", 5)
    assert len({found, guid(2, "contact", 5), guid(1, "item", 5), guid(1, "contact", 6)}) == 4
