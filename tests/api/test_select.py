"""`$select`: the selected properties, in the order of the interface."""

from comptoir.catalog import MODEL
from support.companies import Company
from support.contract import without_control
from support.samples import PATHS, SAMPLES
from support.together import together


@together("resource", PATHS)
@together("alone", [True, False])
def test_every_property_can_be_selected(resource: str, alone: bool, stocked: Company) -> None:
    for name, value in SAMPLES[resource].items():
        path = PATHS[resource] if alone else resource
        answer = stocked.get(path, f"$select={name}").json()

        shown = answer if alone else answer["value"][0]
        assert without_control(shown) == {name: value}
        assert shown["@odata.etag"] == stocked.record(PATHS[resource])["@odata.etag"]
        ending = f"/{resource}({name})" + ("/$entity" if alone else "")
        assert answer["@odata.context"].endswith(ending)


@together("entity_set", MODEL.sets)
def test_every_set_can_be_selected_from(entity_set: object, stocked: Company) -> None:
    name = getattr(entity_set, "name", "")
    base = stocked.root.partition("/companies")[0]
    root = base if name == "companies" else stocked.root
    key = MODEL.by_name[name].type.key

    answer = stocked.follow(f"{root}/{name}?$select={key}")

    assert all(list(without_control(each)) == [key] for each in answer.json()["value"])
