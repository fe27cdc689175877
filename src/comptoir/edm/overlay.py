"""A model whose properties have the types that a profile gives them.

Names, columns, keys and rules stay as declared, and with them tables, revisions and statements.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from comptoir.edm import types
from comptoir.edm.model import (
    LAST_CHANGE,
    Calculated,
    EntitySet,
    Model,
    Property,
    Reference,
    Referrer,
)
from comptoir.edm.numbers import INT64
from comptoir.edm.times import INSTANT, SHORT_INSTANT, DateTimeOffset
from comptoir.profiles import record
from comptoir.profiles.record import FieldOptions, Members, TableRule, ValueForms, Values

_KINDS: Mapping[str, type[types.Text]] = {
    "": types.Text,
    "email": types.EmailText,
    "phone": types.PhoneText,
}
"""The types of texts by their rules."""

_derived: list[tuple[Model, Values, ValueForms, Model]] = []
"""The models that were derived in this process, after what each was derived from."""


def overlaid(model: Model, values: Values, forms: ValueForms) -> Model:
    """The model with derived types; the same object if nothing differs.

    Every set of another model is another object, so caches that it keys are separate too. Equal
    arguments return the same model, so that its statements are compiled once.
    """
    if values == Values() and forms == record.DECLARED:
        return model
    for declared, known_values, known_forms, derived in _derived:
        if declared is model and (known_values, known_forms) == (values, forms):
            return derived
    derived = _derive(model, values, forms)
    _derived.append((model, values, forms, derived))
    return derived


def _derive(model: Model, values: Values, forms: ValueForms) -> Model:
    sets = tuple(_overlaid_set(each, values, forms) for each in model.sets)
    return Model(sets, values.aliases, forms.container, model.tables, model.source)


def _overlaid_set(entity_set: EntitySet, values: Values, forms: ValueForms) -> EntitySet:
    declared = entity_set.type
    properties = []
    for each in declared.properties:
        rule = _rule(entity_set, each.name, values)
        members = () if rule is None else values.enums.get(rule.enum, ())
        derived = _overlaid(each, rule, members, f"{entity_set.name}.{each.name}", forms)
        if rule is not None:
            required = each.required or rule.required
            derived = replace(derived, caption=rule.caption, required=required)
        if not forms.interface_extensions:
            derived = replace(derived, kept_on_create=False)
            if isinstance(each.type, types.Base64Text) and entity_set.tracks_changes:
                derived = replace(derived, type=types.STREAM)
        properties.append(derived)
    if not entity_set.per_company:
        properties += [_shown(name, each, forms) for name, each in forms.of_companies.items()]
    derivations = [
        replace(each, keeps_own=forms.keeps_own and not declared.by_name[each.target].computed)
        if isinstance(each, Calculated)
        else each
        for each in declared.derivations
    ]
    derived_type = replace(
        declared,
        properties=tuple(properties),
        namespace=forms.namespace,
        derivations=tuple(derivations),
    )
    table = values.tables.get(entity_set.name)
    if table is not None:
        derived_type = replace(
            derived_type,
            caption=table.caption,
            table=f"{table.number} {table.caption}",
            references=(*declared.references, *_references(table, values)),
            referrers=tuple(Referrer(*each) for each in table.used_in),
            periods=table.periods,
        )
    derived_set = replace(entity_set, type=derived_type, encodes_tags=forms.tags == "base64")
    if forms.interface_extensions:
        return derived_set
    return replace(derived_set, single_inline=False, key_narrows=False)


def _shown(name: str, shown: record.ShownProperty, forms: ValueForms) -> Property:
    kinds: Mapping[str, types.PrimitiveType] = {
        "text": types.TEXT,
        "number": INT64,
        "id": types.GUID,
        "instant": instant_type(forms),
    }
    shows = LAST_CHANGE if shown.shows == "number" else shown.shows
    return Property(name, kinds[shown.type], shown.description, shows=shows)


def _references(table: TableRule, values: Values) -> Iterator[Reference]:
    for name, rule in table.fields.items():
        if values.relations and (each := rule.names) is not None:
            only, when = (next(iter(pair.items()), None) for pair in (each.only, each.when))
            caption = values.tables[each.set].caption
            yield Reference(name, each.set, each.by, caption, only, when)


def instant_type(forms: ValueForms) -> DateTimeOffset:
    """The type of instants in the form of a profile."""
    return SHORT_INSTANT if forms.instants == "short" else INSTANT


def _rule(entity_set: EntitySet, name: str, values: Values) -> FieldOptions | None:
    """The rule of a property: for a view that of the property of the base which it shows."""
    view = entity_set.view
    shown, column = (entity_set.name, name) if view is None else (view.base, view.columns[name])
    table = values.tables.get(shown)
    return None if table is None else table.fields.get(column)


def _overlaid(
    declared: Property, rule: FieldOptions | None, members: Members, place: str, forms: ValueForms
) -> Property:
    if isinstance(declared.type, types.EnumText):
        named = forms.enumerations != "captions"
        return replace(declared, type=declared.type.within(forms.namespace, named=named))
    if isinstance(declared.type, DateTimeOffset) and forms.instants == "short":
        return replace(declared, type=instant_type(forms))
    if rule is None or (rule.length is None and not members):
        return declared
    stored_length = declared.type.stored_length if isinstance(declared.type, types.Text) else None
    if members:
        named = forms.enumerations == "names" and place not in forms.captioned
        derived = types.EnumText(members, named=named, stored_length=stored_length)
        return replace(declared, type=derived, suggested=derived.options)
    is_code = rule.code or isinstance(declared.type, types.CodeText)
    kind = types.CodeText if is_code else _KINDS[rule.form]
    return replace(declared, type=kind(rule.length, stored_length=stored_length))
