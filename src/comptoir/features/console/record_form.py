"""Forms for records, made from the declaration of their entity type."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Literal

import msgspec

from comptoir.edm.model import EntityType, Property
from comptoir.edm.numbers import DecimalNumber, Int32
from comptoir.edm.times import Date
from comptoir.edm.types import TEXT_LENGTH, Boolean, EnumText, Text
from comptoir.features.console.captions import caption
from comptoir.features.console.record_query import default_columns, heading
from comptoir.features.console.values import Presented, Values, empty, initial, presented, shown
from comptoir.http.redaction import MASK

Control = Literal["line", "lines", "choice", "day", "whole", "number", "secret"]

ELSEWHERE = "bytes at an address of their own"
"""The text in place of a stream."""

LONGEST_SHORT = 80
"""Characters of a value that a table or a name shows."""

_BOOLEANS: Mapping[str, str] = {"false": "No", "true": "Yes"}


class FormField(msgspec.Struct, frozen=True):
    """A field of a form.

    `options` are all values of a `choice`, or the usual ones of another control, with their
    captions. A `secret` has no value: it shows `MASK`. `note` says what the field accepts, and
    `error` why the service has refused its value.
    """

    name: str
    label: str
    description: str
    control: Control
    value: str
    options: Mapping[str, str]
    required: bool
    note: str
    error: str


class ReadOnlyField(msgspec.Struct, frozen=True):
    """A property that is only shown."""

    name: str
    label: str
    description: str
    value: Presented


def editable(entity_type: EntityType, *, creating: bool = False) -> tuple[Property, ...]:
    """The properties that an update may change, or a create may set; no streams."""
    return tuple(
        each
        for each in entity_type.properties
        if each.shows is None
        and not each.is_stream
        and entity_type.accepts(each, creating=creating, any_key=False)
    )


def secrets(entity_type: EntityType) -> tuple[str, ...]:
    """The properties whose values no page shows."""
    return tuple(each.name for each in entity_type.properties if each.secret)


def form_fields(
    entity_type: EntityType,
    values: Values,
    errors: Mapping[str, str] = MappingProxyType({}),
    *,
    creating: bool = False,
) -> list[FormField]:
    """The fields of a form with these values; a property without one is empty.

    `errors` are messages by the names of properties.
    """
    fields: list[FormField] = []
    for declared in editable(entity_type, creating=creating):
        absent = initial(declared) if creating else empty(declared)
        value = "" if declared.secret else shown(declared, values.get(declared.name, absent))
        choices = _choices(declared)
        options = choices or {each: each for each in declared.suggested}
        if choices and value not in choices:
            options = {value: value, **choices}
        field = FormField(
            name=declared.name,
            label=caption(declared),
            description=declared.description,
            control=_control(declared, value),
            value=value,
            options=options,
            required=declared.required and not (creating and declared.numbered),
            note=" ".join(_notes(declared)),
            error=errors.get(declared.name, ""),
        )
        fields.append(field)
    return fields


def shown_properties(
    entity_type: EntityType, values: Values, *, whole: bool
) -> list[ReadOnlyField]:
    """The properties that are only shown: all if `whole`, else those that no form may change."""
    changed = frozenset[str]() if whole else {each.name for each in editable(entity_type)}
    return [
        ReadOnlyField(each.name, caption(each), each.description, _presented(each, values))
        for each in entity_type.properties
        if each.name not in changed
    ]


def text_of(declared: Property, values: Values) -> str:
    """The value of a property as text; `MASK` for a secret, `ELSEWHERE` for a stream."""
    if declared.secret:
        return MASK
    if declared.is_stream:
        return ELSEWHERE
    return shown(declared, values[declared.name]) if declared.name in values else ""


def short(text: str) -> str:
    """The beginning of a long text, for a table or a name."""
    return text if len(text) <= LONGEST_SHORT else f"{text[: LONGEST_SHORT - 1]}…"


def _presented(declared: Property, values: Values) -> Presented:
    if declared.is_queried and declared.name in values:
        return presented(declared, values[declared.name])
    text = text_of(declared, values)
    return Presented(text, text)


def record_name(entity_type: EntityType, values: Values) -> str:
    """The name of a record for people: its identification, or else a telling value."""
    by_name, names = entity_type.by_name, entity_type.identification
    if heading(entity_type) not in names:
        names = (heading(entity_type),)
    texts = [" ".join([text_of(by_name[each], values) for each in names])]
    texts += [text_of(each, values) for each in entity_type.required if each.is_queried]
    return next((short(each.strip()) for each in texts if each.strip()), "")


def record_title(entity_type: EntityType, values: Values) -> str:
    """What a record is about, by the first column of lists after that of its identification."""
    title = [
        name for name in default_columns(entity_type) if name not in entity_type.identification
    ]
    return short(text_of(entity_type.by_name[title[0]], values).strip()) if title else ""


def _control(declared: Property, value: str) -> Control:
    edm_type = declared.type
    if declared.secret:
        return "secret"
    if _choices(declared):
        return "choice"
    if isinstance(edm_type, Int32):
        return "whole"
    if isinstance(edm_type, DecimalNumber):
        return "number"
    if isinstance(edm_type, Date):
        return "day"
    # a field of one line would drop line ends
    is_long = declared.is_unlimited or "\n" in value or "\r" in value
    return "lines" if is_long else "line"


def _choices(declared: Property) -> Mapping[str, str]:
    """The captions of all values of a property that has only a few."""
    if isinstance(declared.type, Boolean):
        return _BOOLEANS
    return declared.type.caption_of if isinstance(declared.type, EnumText) else {}


def _notes(declared: Property) -> Iterator[str]:
    edm_type = declared.type
    if declared.secret:
        yield "Shown to nobody. Type a value to replace it."
    if declared.numbered:
        yield "A new record without one gets the next free number."
    if isinstance(edm_type, Text):
        limit = edm_type.max_length
        if limit is not None and limit < TEXT_LENGTH and not _choices(declared):
            yield f"Up to {limit} characters."
    elif not isinstance(edm_type, Boolean | Date | EnumText):
        expected, example = edm_type.expected, edm_type.example.strip('"')
        yield f"{expected[0].upper()}{expected[1:]}, such as {example}."
