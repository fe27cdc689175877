"""The reference pages of kinds, settings and errors, written from their declarations.

All functions are pure. `tools/reference.py` writes what they give to `docs/reference`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields

from comptoir.config import HELP, Settings, SettingValue, environment_name
from comptoir.edm.entity import Computed, EntityType, NavigationProperty, Property
from comptoir.edm.model import EntitySet, Model
from comptoir.edm.number import DecimalNumber, Int32
from comptoir.edm.primitive import PrimitiveType
from comptoir.edm.text import Base64Text, Text
from comptoir.errors import ErrorKind
from comptoir.metadata.markdown import anchor, code, codes, page, table

_SETTINGS_INTRO = (
    "The first of these that gives a value wins: the option, the environment variable, the config "
    "file, the default. The config file is TOML with one line per setting, such as "
    "`page_size = 500`; the option `--config` or the variable `COMPTOIR_CONFIG` names it. Sizes "
    "are in bytes, times in seconds."
)
_ERRORS_INTRO = (
    "Every failure is answered with `application/json` of one shape: "
    '`{"error": {"code", "message", "target"?, "details"?}}`. The code is stable; the message '
    "says what was wrong, where, and what to do; `target` names the property, query option or "
    "header; `details` lists the faults where there are several."
)


def kinds_page(model: Model) -> str:
    """What every resource holds, which methods it has, and which rules its records keep."""
    sets = sorted(model.sets, key=lambda each: (each.per_company, each.name.lower()))
    overview = table(
        ("Resource", "Kind", "Key", "Methods", "What it holds"),
        (
            (
                f"[{each.name}](#{anchor(each.name)})",
                code(each.type.name),
                code(each.type.key),
                ", ".join(dict.fromkeys([*collection_methods(each), *record_methods(each)])),
                each.type.description,
            )
            for each in sets
        ),
    )
    types = {type(each.type): each.type for kind in sets for each in kind.type.properties}
    forms = table(
        ("Type", "Takes", "No value"),
        sorted(
            (
                code(each.edm_name),
                each.expected,
                code(each.no_value),
            )
            for each in types.values()
        ),
    )
    return page(
        "Kinds of records",
        "`src/comptoir/catalog`",
        overview,
        "Fields stand in answers in the order in which they stand here, all of them, always.",
        "## Types",
        forms,
        *(_kind_section(each) for each in sets),
    )


def collection_methods(entity_set: EntitySet) -> tuple[str, ...]:
    """The methods that the resource itself has."""
    return ("GET", "HEAD") if entity_set.read_only else ("GET", "HEAD", "POST")


def record_methods(entity_set: EntitySet) -> tuple[str, ...]:
    """The methods that one record of the resource has."""
    return ("GET", "HEAD") if entity_set.read_only else ("GET", "HEAD", "PATCH", "PUT", "DELETE")


def _kind_section(entity_set: EntitySet) -> str:
    kind = entity_set.type
    address = entity_set.name
    if entity_set.per_company:
        address = f"companies({{company_id}})/{entity_set.name}"
    quote = "'" if isinstance(kind.key_property.type, Text) else ""
    record = f"{address}({quote}{{{kind.key}}}{quote})"
    lines = [
        f"- All: `{address}`: {', '.join(collection_methods(entity_set))}",
        f"- One: `{record}`: {', '.join(record_methods(entity_set))}",
    ]
    lines += [f"- {note}" for note in _notes(entity_set)]
    properties = table(
        ("Field", "Type", "Up to", "Rules", "What it is"),
        (
            (
                code(each.name),
                each.type.edm_name.removeprefix("Edm."),
                _length(each.type),
                "; ".join(_rules(kind, each)),
                _described(each),
            )
            for each in kind.properties
        ),
    )
    parts = [f"## {entity_set.name}", kind.description, "\n".join(lines), properties]
    if kind.navigation:
        parts.append(_relations(kind))
    return "\n\n".join(parts)


def _relations(kind: EntityType) -> str:
    return table(
        ("Related records", "Of", "Joined by", "What they are"),
        (
            (
                code(each.name),
                f"{'many of' if each.collection else 'one of'} {each.target}",
                "; ".join(_joined(each)),
                each.description,
            )
            for each in kind.navigation
        ),
    )


def _joined(held: NavigationProperty) -> Iterator[str]:
    own, other = held.on
    yield f"its {code(other)} is this {code(own)}"
    for name, value in held.only.items():
        wanted = f'"{value}"'
        yield f"its {code(name)} is {code(wanted)}"


def _length(kind: PrimitiveType) -> str:
    if isinstance(kind, Base64Text):
        return "the body limit"
    if isinstance(kind, Text):
        return f"{kind.max_length:,} characters"
    if isinstance(kind, DecimalNumber):
        return f"{kind.precision} digits, {kind.scale} of them decimals"
    if isinstance(kind, Int32):
        return f"{kind.maximum:,}"
    return ""


def _rules(kind: EntityType, held: Property) -> Iterator[str]:
    if held.name == kind.key:
        yield "key"
    if held.required:
        yield "required, never empty"
    if held.modified_at:
        yield "computed: the time of the last change"
    if held.kept_on_create:
        yield "kept when a create sends it"
    if held.numbered:
        yield "the next free number when a create leaves it out"
    if isinstance(held.type, Int32) and held.type.digits:
        yield "digits may be sent as text"
    if isinstance(held.type, Base64Text):
        yield "Base64"
    if held.secret:
        yield "secret: never in logs, queries or the change log, nor in a dump by default"
    if any(each.target == held.name for each in kind.derivations):
        yield "derived"


def _described(held: Property) -> str:
    if not held.suggested:
        return held.description
    shown = codes(f'"{value}"' for value in held.suggested)
    return f"{held.description} Usual values, any is taken: {shown}."


def _notes(entity_set: EntitySet) -> Iterator[str]:
    kind = entity_set.type
    if not entity_set.per_company:
        yield "Made by `comptoir company create`."
    elif entity_set.read_only and entity_set.view is None:
        yield "Filled by `comptoir load`."
    for rule in kind.unique:
        blank = "; records where it is blank are not compared" if rule.blank_is_free else ""
        yield f"Unique per company: {codes(rule.properties)}{blank}."
    for each in kind.derivations:
        if isinstance(each, Computed):
            yield f"Derived unless the body gives it: `{each.target}` is {each.meaning}."
        else:
            yield (
                f"Derived unless the body gives it: `{each.target}` is {each.meaning}. While there "
                "is no such record it is an ordinary field."
            )
    if entity_set.view is not None:
        named = [f"`{own}` is its `{base}`" for own, base in entity_set.view.columns.items()]
        yield f"Each record is one of {entity_set.view.base}: {', '.join(named)}."
    if entity_set.create_guarded:
        yield (
            "Creating needs `If-Match` (or `If-None-Match: *`), which guards the record of the "
            f"same `{kind.key}`: 428 without one, 412 when a tag does not match an existing "
            "record, 409 when it does. A client that names the protocol (`OData-Version`) may "
            "leave it out."
        )
    if entity_set.single_inline:
        yield (
            "When exactly one record matches, the only query option is `$filter` and the client "
            "does not name the protocol, the record's fields also stand at the top of the answer."
        )
    if entity_set.key_narrows:
        yield (
            "A key narrows the collection to one record, and the all-zero Guid leaves it whole. "
            "The answer is an object with `value`; a client that names the protocol gets the "
            "record."
        )
    if entity_set.pair_filter is not None:
        pairs = entity_set.pair_filter
        yield (
            f"`$filter` takes pairs `{pairs.name}<n> eq '…' and {pairs.value}<n> eq '…'`, `<n>` "
            f"from 1 to {pairs.count}, each of which must hold in {pairs.carrier}; a name alone "
            "asks for records that have it, whatever its value."
        )


def settings_page(options: Mapping[str, str]) -> str:
    """Every setting; `options` gives, by setting, the option of the commands that take it."""
    settings = Settings()
    rows = (
        (
            code(each.name),
            HELP[each.name],
            _default(getattr(settings, each.name)),
            code(environment_name(each.name)),
            code(options[each.name]) if each.name in options else "",
        )
        for each in fields(settings)
    )
    return page(
        "Settings",
        "`src/comptoir/config.py`",
        _SETTINGS_INTRO,
        table(("Setting", "What it is", "Default", "Environment", "Option"), rows),
    )


def _default(value: SettingValue) -> str:
    return code(str(value)) if value != "" else "empty"


def errors_page(errors: Sequence[ErrorKind]) -> str:
    """Every error that a client can see, by its status."""
    rows = (
        (str(each.status), code(each.code), each.meaning, each.remedy)
        for each in sorted(errors, key=lambda each: (each.status, each.code))
    )
    return page(
        "Errors",
        "`src/comptoir/errors.py`",
        _ERRORS_INTRO,
        table(("Status", "Code", "What it means", "What to do"), rows),
        "The checks come in this order: token, company, resource, method, scope, media type, size, "
        "precondition, syntax of the body, record, tag, values, uniqueness.",
    )


def undocumented(model: Model, errors: Iterable[ErrorKind]) -> Iterator[str]:
    """What has no line of documentation: settings, errors, kinds and their fields."""
    for name, text in HELP.items():
        if not text.strip():
            yield f"the setting {name} has no help"
    for each in errors:
        if not (each.meaning.strip() and each.remedy.strip()):
            yield f"the error {each.code} has no meaning or no remedy"
    for entity_set in model.sets:
        kind = entity_set.type
        if not kind.description.strip():
            yield f"{entity_set.name} has no description"
        texts = {each.name: each.description for each in kind.properties}
        texts |= {each.name: each.description for each in kind.navigation}
        for name, text in texts.items():
            if not text.strip():
                yield f"{entity_set.name} {name} has no description"
