"""Requests for the sets that `support.subjects.added_options` adds to the built-in ones."""

from comptoir.catalog import MODEL
from comptoir.edm.model import Model
from support.client import record
from support.repeats import repeatable
from support.service import Service
from support.subjects import address, guard, samples, sent


def write_own(service: Service, model: Model) -> None:
    """Write and read the records of own sets, those that other records contain included."""
    company, rows = service.new_company(), samples(model, 3)
    own = {each.name: each for each in model.stored if each.name not in MODEL.by_name}
    company.admin.load_all(company.stored, {name: rows[name][:2] for name in own})
    made: list[str] = []
    for name, each in own.items():
        company.catch_up(name)
        assert company.get(name, "$search=x").status_code == 200
        for navigation in each.type.navigation:
            assert company.get(name, {"$expand": navigation.name}).status_code == 200
        if each.read_only:
            continue
        body = sent(each, rows[name][2], creating=True)
        created = record(company.post(name, body, {**repeatable(), **guard(each)}), 201)
        for rule in each.type.unique:
            assert company.get(address(each, created, *rule.properties)).status_code == 200
        made.append(address(each, created))
        assert company.put(made[-1], body, "*").status_code == 200
    part = address(own["parts"], company.listed("parts")[2])
    assert company.post(f"{part}/traits", {"name": "new"}).status_code == 201
    assert company.request("POST", f"{part}/Comptoir.approve").status_code == 204
    picture = {"Content-Type": "image/png"}
    assert company.patch(f"{part}/picture", b"picture", "*", picture).status_code == 204
    assert company.get(f"{part}/picture").content == b"picture"
    assert company.get("labels", {"$filter": "trait1 eq 'x' and is1 eq 'y'"}).status_code == 200
    for path in made:
        assert company.delete(path, "*").status_code in (204, 404), path
