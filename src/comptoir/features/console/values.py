"""Values of records as JSON, and as the text that people read and type; drafts of records."""

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from functools import cache
from html import escape
from typing import Literal, cast

import msgspec

from comptoir.edm.model import EntityType, Property
from comptoir.edm.numbers import DecimalNumber, Int32
from comptoir.edm.times import Date, DateTimeOffset
from comptoir.edm.types import Boolean, EdmError, EnumText, Stored, Text, TextualType
from comptoir.features.console.templates import minute_text
from comptoir.jsonvalue import Json
from comptoir.plan.read import Row

Values = Mapping[str, Json]
"""Values of properties in wire form, by the names of the properties."""

_decode = msgspec.json.Decoder(float_hook=Decimal).decode


def decoded(text: str | bytes) -> dict[str, Json]:
    """The members of a JSON object; raises `ValueError` for another text."""
    try:
        value = _decode(text)
    except (ArithmeticError, RecursionError):
        raise ValueError("not what the service writes") from None
    if not isinstance(value, dict):
        raise ValueError("not a JSON object")
    return cast("dict[str, Json]", value)


def encoded(values: Values) -> bytes:
    """The values as a JSON object; numbers are as exact as in `decoded`."""
    return msgspec.json.encode(
        {
            name: msgspec.Raw(str(value).encode()) if isinstance(value, Decimal) else value
            for name, value in values.items()
        }
    )


def empty(declared: Property) -> Json:
    """The empty value of a property."""
    return cast("Json", _decode(declared.type.empty_json))


def initial(declared: Property) -> Json:
    """The value of a record whose create omits the property."""
    return of_stored(declared, declared.initial)


def of_stored(declared: Property, stored: Stored) -> Json:
    """The wire form of a stored value."""
    return cast("Json", _decode(msgspec.json.encode(declared.type.wire(stored))))


@cache
def _blank(declared: Property) -> Json:
    """The value of a property that is shown as blank: the empty day, instant or Guid, else null."""
    is_text = isinstance(declared.type, Text) or not isinstance(declared.type, TextualType)
    return None if is_text else empty(declared)


def shown(declared: Property, value: Json) -> str:
    """A value as text; blank for the empty day, instant and Guid."""
    if value is True or value is False:
        return "true" if value else "false"
    return "" if value == _blank(declared) else str(value)


class TablePage(msgspec.Struct, frozen=True):
    """The texts of a page of records by property, and the service's link to the next page.

    The link is blank on the last page. `count` is the number of records on all pages, if it was
    asked for.
    """

    columns: Mapping[str, Sequence[str]]
    size: int
    next_link: str = ""
    count: int | None = None


def text_columns(
    entity_type: EntityType, names: Sequence[str], rows: Sequence[Row]
) -> Mapping[str, Sequence[str]]:
    """The texts of each property, as `shown`, in rows that have a version and these properties."""
    columns = list(zip(*rows, strict=True))[1:] or [()] * len(names)
    return {
        name: _texts(entity_type.by_name[name], values)
        for name, values in zip(names, columns, strict=False)
    }


def _texts(declared: Property, values: Sequence[Stored]) -> Sequence[str]:
    if declared.type.to_wire is not None:
        text_of = {each: shown(declared, of_stored(declared, each)) for each in set(values)}
        return [text_of[each] for each in values]
    if isinstance(declared.type, Text):
        return cast("Sequence[str]", values)
    return [shown(declared, each) for each in values]


BLANK = '<span class="muted">&ndash;</span>'
"""What pages show in place of a value that is blank."""

Form = Literal["text", "time", "day", "number"]


class Presented(msgspec.Struct, frozen=True):
    """A value for people: its text, the `exact` one as clients receive it, and what it is."""

    text: str
    exact: str
    form: Form = "text"

    def __html__(self) -> str:
        """The value on a page, to which templates add it as it is."""
        text = escape(self.text)
        if not text.strip():
            return BLANK
        if self.form in ("time", "day"):
            return f'<time datetime="{escape(self.exact)}">{text}</time>'
        if self.form == "number":
            return f'<data value="{escape(self.exact)}">{text}</data>'
        # text may run from right to left
        return f"<bdi>{text}</bdi>"


@cache
def _form(declared: Property) -> Form:
    if isinstance(declared.type, DateTimeOffset):
        return "time"
    if isinstance(declared.type, Date):
        return "day"
    is_number = isinstance(declared.type, Int32 | DecimalNumber) and not declared.numbered
    return "number" if is_number else "text"


def presented(declared: Property, value: Json) -> Presented:
    """A value, or its text as `shown`, for people.

    Times are in UTC, and scripts show them in the reader's time zone.
    """
    exact, form = shown(declared, value), _form(declared)
    text = exact
    if isinstance(declared.type, Boolean) and exact:
        text = "Yes" if exact == "true" else "No"
    elif exact and form == "time":
        text = minute_text(exact)
    elif isinstance(declared.type, EnumText):
        text = declared.type.caption_of.get(exact, exact)
    return Presented(text, exact, form)


def typed(declared: Property, text: str, before: Json) -> Json:
    """The value that a text of a form means; `before` is the one that the form had.

    A text that the property does not accept is returned as it is: the service refuses it. Browsers
    send each line end of a text as CR LF, so line ends alone are not a change.
    """
    edm_type = declared.type
    if isinstance(edm_type, Text):
        lines, old = _lines(text), str(before)
        if lines == _lines(old):
            return before
        return lines.replace("\n", "\r\n") if "\r\n" in old else lines
    text = text.strip()
    if not text:
        return empty(declared)
    try:
        stored = edm_type.from_text(text)
    except EdmError:
        return text
    return of_stored(declared, stored)


def _lines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


Side = Literal["yours", "theirs"]

Outcome = Literal["yours", "theirs", "same", "open"]
"""The author of a value's change: only you, only others, both the `same`, both different."""


class Draft(msgspec.Struct, frozen=True):
    """The values that a person wants a record to have.

    `tag` is the ETag of the version with the values `read`, on which the draft is based. `wanted`
    has the properties that the person may change; `secrets` are those that nobody reads.
    """

    tag: str
    read: Values
    wanted: Values
    secrets: Values = {}

    @property
    def changes(self) -> dict[str, Json]:
        """The values to send: those that differ from the version that was read, and the secrets."""
        changed = {
            name: value for name, value in self.wanted.items() if self.read.get(name) != value
        }
        return {**changed, **self.secrets}


class ChangedProperty(msgspec.Struct, frozen=True):
    """A property that was changed by the draft or meanwhile, with its three values."""

    name: str
    read: Json
    now: Json
    wanted: Json
    outcome: Outcome


def differences(draft: Draft, now: Values) -> Iterator[ChangedProperty]:
    """Compare a draft with the values that the record has now."""
    for name, wanted in draft.wanted.items():
        read, current = draft.read.get(name), now.get(name)
        if read == current == wanted:
            continue
        outcome: Outcome = "theirs" if read == wanted else "open"
        if current in (wanted, read):
            outcome = "same" if current == wanted else "yours"
        yield ChangedProperty(name, read, current, wanted, outcome)


def rebased(draft: Draft, tag: str, now: Values, chosen: Mapping[str, Side]) -> Draft | None:
    """The draft based on the version with this ETag and these values.

    What only others have changed is taken over; `chosen` decides what both have changed. None if it
    lacks such a property. The new draft may conflict with a later version in the same way.
    """
    wanted = dict(draft.wanted)
    for each in differences(draft, now):
        side = chosen.get(each.name) if each.outcome == "open" else each.outcome
        if side is None:
            return None
        if side == "theirs":
            wanted[each.name] = each.now
    return Draft(tag, now, wanted, draft.secrets)
