"""`$select`: the selected properties, in the order of the interface."""

from comptoir.catalog import MODEL
from support.client import record
from support.companies import Company
from support.contract import without_control
from support.samples import CONTACT, PATHS, SAMPLES
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


@together(
    ("select", "names"),
    [
        ("city,displayName", ["displayName", "city"]),
        ("city, displayName ,city", ["displayName", "city"]),
        ("onlinePassword", ["onlinePassword"]),
        ("Comptoir.contact/city", ["city"]),
        ("people", []),
        ("people,city", ["city"]),
    ],
)
def test_properties_are_in_the_order_of_the_interface(
    select: str, names: list[str], stocked: Company
) -> None:
    read = record(stocked.get(PATHS["contactsExt"], {"$select": select}))

    assert list(without_control(read)) == names


@together("select", ["*", "city,*", "*,people"])
def test_a_star_selects_all(select: str, stocked: Company) -> None:
    read = record(stocked.get(PATHS["contactsExt"], {"$select": select}))

    assert without_control(read) == SAMPLES["contactsExt"]


def test_later_pages_have_the_same_selection(company: Company) -> None:
    company.load("itemsExt", *({"number": f"{number}"} for number in range(3)))
    first = company.get(
        "itemsExt", "$select=number&$orderby=number", {"Prefer": "odata.maxpagesize=2"}
    ).json()

    second = company.follow(first["@odata.nextLink"]).json()

    shown = [without_control(each) for each in [*first["value"], *second["value"]]]
    assert shown == [{"number": "0"}, {"number": "1"}, {"number": "2"}]


def test_a_selection_without_metadata_has_only_the_properties(stocked: Company) -> None:
    answer = stocked.get(
        f"contactsExt({CONTACT})",
        "$select=city",
        {"Accept": "application/json;odata.metadata=none"},
    )

    assert answer.json() == {"city": "Graz"}


@together("entity_set", MODEL.sets)
def test_every_set_can_be_selected_from(entity_set: object, stocked: Company) -> None:
    name = getattr(entity_set, "name", "")
    base = stocked.root.partition("/companies")[0]
    root = base if name == "companies" else stocked.root
    key = MODEL.by_name[name].type.key

    answer = stocked.follow(f"{root}/{name}?$select={key}")

    assert all(list(without_control(each)) == [key] for each in answer.json()["value"])
