"""The faults, each in the module of its name."""

from collections.abc import Collection, Iterable, Mapping
from importlib import import_module  # noqa: TID251 - a fault is found by its file

from comptoir.errors.refusal import Refusal
from comptoir.features.rehearsal import errors
from comptoir.features.rehearsal.faults.fault import REGISTERED, Fault

_NAMES = (
    "throttle away slow timeout reset stale-read touch lock link-expired page-shift token-expired "
    "rights-lost hook batch-rollback body vanish"
)
"""In the order of the reference, and of messages."""


def _fault(name: str) -> type[Fault]:
    import_module(f"{__name__}.{name.replace('-', '_')}")
    return REGISTERED[name]


FAULTS: Mapping[str, type[Fault]] = {each: _fault(each) for each in _NAMES.split()}
"""All faults, by name."""

LONGEST_FAULT = 400
"""Characters of a fault."""


def parse_fault(text: str, place: str) -> Fault:
    """The fault in a text; raises `Refusal` (400) that names `place`, where the text is."""
    return parse_parts(text, place)[0]


def parse_parts(
    text: str, place: str, others: Collection[str] = ()
) -> tuple[Fault, dict[str, str]]:
    """A fault, and the values of those parameters in its text that `others` names.

    Raises `Refusal` (400) that names `place`, where the text is.
    """
    if len(text) > LONGEST_FAULT:
        raise errors.LONG_FAULT(place, place=place, limit=LONGEST_FAULT)
    name, *parts = [each.strip() for each in text.split(";")]
    fault_type = FAULTS.get(name)
    if fault_type is None:
        faults = ", ".join(FAULTS)
        raise errors.UNKNOWN_FAULT(place, known=FAULTS, name=name, place=place, faults=faults)
    texts = _texts(parts, place)
    rest = {each: texts.pop(each) for each in list(texts) if each not in fault_type.parameters}
    fault = fault_type.written(texts, place)
    for each in rest:
        if each not in others:
            raise _unknown_parameter(fault_type, each, place)
    return fault, rest


def _texts(parts: Iterable[str], place: str) -> dict[str, str]:
    texts: dict[str, str] = {}
    for part in parts:
        name, equals, value = part.partition("=")
        name, value = name.strip(), value.strip()
        if not (name and equals and value):
            raise errors.INVALID(
                place,
                value=part,
                place=f"a parameter in {place}",
                wanted="a name, = and a value after each semicolon, such as retry-after=2",
            )
        if name in texts:
            raise errors.TWICE(place, what=name, place=place)
        texts[name] = value
    return texts


def _unknown_parameter(fault: type[Fault], name: str, place: str) -> Refusal:
    known, owner = fault.parameters, f"{fault.name} in {place}"
    if name == "times":
        return errors.TIMES_IN_FAULT(place, known=known, owner=owner, name=name)
    if not known:
        return errors.NO_PARAMETERS(place, owner=owner, name=name)
    parameters = ", ".join(known)
    return errors.UNKNOWN_PARAMETER(
        place, known=known, owner=owner, name=name, parameters=parameters
    )
