"""A draft is compared with what others have saved, field by field, and loses neither side."""

from comptoir.features.console.values import Draft, Values, differences, rebased

READ: Values = {"name": "Quaystone", "phone": "1", "city": "Graz", "state": "", "rank": 1}


def draft(**wanted: str | int) -> Draft:
    return Draft("t1", READ, {**READ, **wanted})


def outcomes(of: Draft, **now: str | int) -> dict[str, str]:
    return {each.name: each.outcome for each in differences(of, {**READ, **now})}


def test_only_changed_values_are_sent() -> None:
    assert draft().changes == {}
    assert draft(name="Quaystone Mail", city="Graz").changes == {"name": "Quaystone Mail"}


def test_a_typed_secret_is_sent_too() -> None:
    assert Draft("t1", READ, READ, {"password": "p"}).changes == {"password": "p"}


def test_each_field_has_its_outcome() -> None:
    mine = draft(name="Mine", city="Wien", rank=2)

    assert outcomes(mine, name="Theirs", phone="2", city="Wien") == {
        "name": "open",
        "phone": "theirs",
        "city": "same",
        "rank": "yours",
    }


def test_what_only_others_changed_is_taken_over() -> None:
    now = {**READ, "phone": "2"}

    merged = rebased(draft(name="Mine"), "t2", now, {})

    assert merged == Draft("t2", now, {**READ, "name": "Mine", "phone": "2"})
    assert merged.changes == {"name": "Mine"}


def test_what_both_changed_must_be_chosen() -> None:
    mine, now = draft(name="Mine", city="Wien"), {**READ, "name": "Theirs", "city": "Linz"}

    assert rebased(mine, "t2", now, {}) is None
    assert rebased(mine, "t2", now, {"name": "yours"}) is None
    merged = rebased(mine, "t2", now, {"name": "yours", "city": "theirs"})

    assert merged is not None
    assert merged.changes == {"name": "Mine"}
    assert merged.wanted["city"] == "Linz"


def test_a_choice_does_not_override_what_only_one_side_changed() -> None:
    now = {**READ, "phone": "2"}

    merged = rebased(draft(name="Mine"), "t2", now, {"name": "theirs", "phone": "yours"})

    assert merged is not None
    assert (merged.wanted["name"], merged.wanted["phone"]) == ("Mine", "2")


def test_a_draft_conflicts_again_with_a_later_version() -> None:
    second = {**READ, "name": "Theirs", "phone": "2"}
    merged = rebased(draft(name="Mine", city="Wien"), "t2", second, {"name": "yours"})
    assert merged is not None

    third = {**second, "name": "Newer", "phone": "3"}
    found = {each.name: each for each in differences(merged, third)}

    assert {name: each.outcome for name, each in found.items()} == {
        "name": "open",
        "phone": "theirs",
        "city": "yours",
    }
    assert (found["name"].read, found["name"].wanted) == ("Theirs", "Mine")
    again = rebased(merged, "t3", third, {"name": "theirs"})
    assert again is not None
    assert (again.tag, again.changes) == ("t3", {"city": "Wien"})


def test_secrets_survive_a_conflict() -> None:
    mine = Draft("t1", READ, READ, {"password": "p"})

    merged = rebased(mine, "t2", {**READ, "phone": "2"}, {})

    assert merged is not None
    assert merged.changes == {"password": "p"}
