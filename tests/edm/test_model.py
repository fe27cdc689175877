"""An invalid declaration is refused before the service starts, with a message that names it."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from comptoir.catalog import MODEL
from comptoir.edm.model import (
    Calculated,
    EntitySet,
    EntityType,
    Followed,
    Model,
    ModelError,
    PairFilter,
    Property,
    UniqueRule,
    View,
)
from comptoir.edm.times import INSTANT
from comptoir.edm.types import CODE, GUID, TEXT

GOOD = EntityType(
    name="thing",
    description="A thing.",
    properties=(Property("id", GUID), Property("code", CODE), Property("text", TEXT)),
    unique=(UniqueRule(("code",), blank_is_free=True),),
)
PAIRS = PairFilter("name", "value", 10, "valuesExt", "code", "itemNo", "attributeName", "value")


def thing(**changes: object) -> tuple[EntitySet, ...]:
    return (EntitySet("thingsExt", replace(GOOD, **changes)),)  # type: ignore[arg-type]


def seen(view: View, *, read_only: bool = True) -> tuple[EntitySet, ...]:
    return (
        EntitySet("thingsExt", GOOD),
        EntitySet("seenExt", replace(GOOD, name="seen"), read_only=read_only, view=view),
    )


SAME = {"id": "id", "code": "code", "text": "text"}
FOLLOWED = Followed("text", "code", "nothing", "text", {}, "")

ERRORS: dict[str, Callable[[], tuple[EntitySet, ...]]] = {
    "two entity sets have the same name": lambda: thing() + thing(),
    "two properties have the same name": lambda: thing(
        properties=(*GOOD.properties, Property("id", GUID))
    ),
    "names nothing, which is not a property": lambda: thing(key="nothing"),
    "rule of thing names nothing, which is not a property": lambda: thing(
        unique=(UniqueRule(("nothing",)),)
    ),
    "names nothing, .* property": lambda: thing(indexes=(("code", "nothing"),)),
    "names nothing": lambda: thing(derivations=(Calculated("text", "nothing", str, ""),)),
    "names .*nothing": lambda: thing(derivations=(FOLLOWED,)),
    "text is in a key or a unique rule": lambda: thing(key="text"),
    "text is .* must be a CODE": lambda: thing(unique=(UniqueRule(("code", "text")),)),
    "allows empty values but has several properties": lambda: thing(
        unique=(UniqueRule(("code", "id"), True),)
    ),
    "two properties have the time": lambda: thing(
        properties=(
            *GOOD.properties,
            Property("at", INSTANT, modified_at=True),
            Property("then", INSTANT, modified_at=True),
        )
    ),
    "base nothingExt is not a stored set": lambda: seen(View("nothingExt", SAME)),
    "base seenExt is not a stored set": lambda: seen(View("seenExt", SAME)),
    "columns are not its properties": lambda: seen(View("thingsExt", {"id": "id"})),
    "or not properties of the base": lambda: seen(View("thingsExt", {**SAME, "text": "nothing"})),
    "a view must be read-only": lambda: seen(View("thingsExt", SAME), read_only=False),
    "carrier valuesExt lacks": lambda: (EntitySet("thingsExt", GOOD, pair_filter=PAIRS),),
    "reference nothing of the pair filter is not a property": lambda: (
        *MODEL.sets,
        EntitySet(
            "thingsExt",
            GOOD,
            pair_filter=replace(PAIRS, carrier="itemAttributeValuesExt", reference="nothing"),
        ),
    ),
}


@pytest.mark.parametrize("error", ERRORS)
def test_an_invalid_declaration_is_refused(error: str) -> None:
    with pytest.raises(ModelError, match=error):
        Model(ERRORS[error]())


def test_a_valid_declaration_is_accepted() -> None:
    assert Model((*MODEL.sets, *thing())).by_name["thingsExt"].type.key_property.name == "id"
    assert [each.name for each in Model(seen(View("thingsExt", SAME))).stored] == ["thingsExt"]


@pytest.mark.parametrize("aliases", [{"thingsExt": "thingsExt"}, {"things": "nothingExt"}])
def test_an_alias_is_another_name_of_a_set(aliases: dict[str, str]) -> None:
    with pytest.raises(ModelError, match="an alias is the name of a set, or names none"):
        Model(thing(), aliases)
