"""Paths to properties, by alternate keys, by navigation, and to counts and references."""

from comptoir.catalog import MODEL
from support.client import record
from support.companies import Company
from support.contract import without_control
from support.samples import PATHS, SAMPLES
from support.together import together


@together("resource", PATHS)
def test_every_property_can_be_read_alone(resource: str, stocked: Company) -> None:
    for name, value in SAMPLES[resource].items():
        answer = stocked.get(f"{PATHS[resource]}/{name}")

        assert record(answer)["value"] == value
        assert answer.headers["etag"] == stocked.record(PATHS[resource])["@odata.etag"]


@together("resource", PATHS)
def test_every_property_can_be_read_as_raw_text(resource: str, stocked: Company) -> None:
    for name, value in SAMPLES[resource].items():
        answer = stocked.get(f"{PATHS[resource]}/{name}/$value", headers={"Accept": "text/plain"})

        assert answer.status_code == 200
        assert answer.headers["content-type"] == "text/plain;charset=utf-8"
        expected = str(value).lower() if isinstance(value, bool) else str(value)
        assert answer.text == expected


def _alternate_keys() -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for resource, sample in SAMPLES.items():
        entity_type = MODEL.by_name[resource].type
        for rule in entity_type.unique:
            parts = [
                f"{name}='{sample[name]}'"
                if entity_type.by_name[name].type.quoted
                else f"{name}={sample[name]}"
                for name in rule.properties
            ]
            found += [(resource, ",".join(parts)), (resource, ",".join(reversed(parts)))]
    return found


@together(("resource", "key"), _alternate_keys())
def test_a_unique_rule_is_a_key(resource: str, key: str, stocked: Company) -> None:
    assert without_control(stocked.record(f"{resource}({key})")) == SAMPLES[resource]


@together("resource", PATHS)
def test_a_cast_to_the_own_type_changes_nothing(resource: str, stocked: Company) -> None:
    type_name = MODEL.by_name[resource].type.name

    plain, cast = (
        stocked.get(PATHS[resource]),
        stocked.get(f"{PATHS[resource]}/Comptoir.{type_name}"),
    )
    assert cast.json() == plain.json()
    assert len(stocked.listed(f"{resource}/Comptoir.{type_name}")) == 1
