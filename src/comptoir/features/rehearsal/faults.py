"""The table of faults: what a rehearsal can do to requests, and how a fault is written.

A fault is written as in the header `Comptoir-Fault`: its name and its parameters, separated by
semicolons, such as `throttle; retry-after=2`.
"""

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from types import MappingProxyType

import msgspec

from comptoir.errors.refusal import (
    Refusal,
    refuse,
)
from comptoir.features.rehearsal import errors
from comptoir.request.path import READ_METHODS, WRITE_METHODS

LONGEST_FAULT = 400
"""Characters of a fault."""

FaultValue = int | float | str

_INTEGER = re.compile(r"-?[0-9]{1,9}", re.ASCII)
_NUMBER = re.compile(r"-?[0-9]{1,9}(?:\.[0-9]{1,3})?", re.ASCII)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}", re.ASCII)


class Stage(StrEnum):
    """The place of a fault: a request, a whole batch, or the delivery of a notification."""

    REQUEST = "request"
    BATCH = "batch"
    DELIVERY = "delivery"


class FaultParameter(msgspec.Struct, frozen=True):
    """A parameter of a fault: one of `words`, a number from `low` to `high`, or a name.

    Without a `default`, a fault may omit it. `only_with` is an earlier parameter and the value
    that it needs, and `never_with` the parameter that excludes it.
    """

    meaning: str
    words: tuple[str, ...] = ()
    low: float | None = None
    high: float = 0
    is_whole: bool = True
    default: FaultValue | None = None
    only_with: tuple[str, str] | None = None
    never_with: str = ""

    def value(self, name: str, text: str, place: str) -> FaultValue:
        """The value in a text; raises `Refusal` (400)."""
        if text in self.words:
            return text
        if self.low is not None:
            form = _INTEGER if self.is_whole else _NUMBER
            number = float(text) if form.fullmatch(text) else None
            if number is not None and self.low <= number <= self.high:
                return int(number) if number.is_integer() else number
        elif not self.words and _NAME.fullmatch(text):
            return text
        named = f"{name} in {place}"
        raise refuse(errors.INVALID, place, value=text, place=named, wanted=self.values)

    @property
    def values(self) -> str:
        """The values of the parameter, in words."""
        expected = list(self.words)
        if self.low is not None:
            kind = "an integer" if self.is_whole else "a number"
            expected.append(f"{kind} from {self.low:.15g} to {self.high:.15g}")
        return " or ".join(expected) or "the name of a property"


class FaultType(msgspec.Struct, frozen=True):
    """A row of the table: a sentence of what the client sees, and the parameters.

    `methods` are those of the requests on which the fault can act; empty for all. With `needs_set`
    these address an entity set, with `needs_record` a record that can change, and with `least_page`
    a page of a list from this number on. A fault that `remembers` depends on what was done before.
    """

    meaning: str
    parameters: Mapping[str, FaultParameter] = MappingProxyType({})
    stage: Stage = Stage.REQUEST
    methods: frozenset[str] = frozenset()
    needs_set: bool = False
    needs_record: bool = False
    least_page: int = 0
    remembers: bool = False


class Fault(msgspec.Struct, frozen=True):
    """A fault of the table with the values of its parameters, including defaults."""

    name: str
    parameters: Mapping[str, FaultValue] = MappingProxyType({})

    @property
    def type(self) -> FaultType:
        """The fault's row of the table."""
        return FAULTS[self.name]

    @property
    def window(self) -> float:
        """The seconds for which every request meets the fault once it has begun; 0 for one."""
        return float(self.parameters.get("window", 0))

    @property
    def text(self) -> str:
        """The fault as it is written."""
        values = [f"{name}={value}" for name, value in self.parameters.items()]
        return "; ".join([self.name, *values])


_GET = frozenset({"GET"})

_RETRY_AFTER = FaultParameter(
    "The seconds in `Retry-After`; `date` for a date in 30 seconds, `none` for no header. By "
    "default, the profile decides.",
    words=("date", "none"),
    low=0,
    high=3_600,
)

FAULTS: Mapping[str, FaultType] = MappingProxyType(
    {
        "throttle": FaultType(
            "429: the client has sent too many requests.", {"retry-after": _RETRY_AFTER}
        ),
        "away": FaultType(
            "503 or 502: the service is away.",
            {
                "kind": FaultParameter(
                    "503 with a JSON body, 503 with the gateway's HTML page, or 502.",
                    words=("json", "html", "502"),
                    default="json",
                ),
                "retry-after": _RETRY_AFTER,
                "window": FaultParameter(
                    "The seconds for which every request of every client gets this answer.",
                    low=1,
                    high=86_400,
                ),
            },
        ),
        "slow": FaultType(
            "The answer comes late, or in small pieces.",
            {
                "seconds": FaultParameter(
                    "How much longer the answer takes.",
                    low=0.001,
                    high=600,
                    is_whole=False,
                    default=5,
                ),
                "kind": FaultParameter(
                    "The first byte is late, or the body drips.",
                    words=("first-byte", "drip"),
                    default="first-byte",
                ),
            },
        ),
        "timeout": FaultType(
            "The request times out, before or after its commit.",
            {
                "status": FaultParameter("The status.", words=("408", "504"), default="408"),
                "phase": FaultParameter(
                    "Whether a write is committed.", words=("before", "after"), default="before"
                ),
                "seconds": FaultParameter(
                    "The time until the answer.", low=0, high=600, is_whole=False, default=0
                ),
            },
        ),
        "reset": FaultType(
            "The connection is cut.",
            {
                "phase": FaultParameter(
                    "Before the request is run, after its commit, or within the body.",
                    words=("before", "after", "body"),
                    default="before",
                ),
                "bytes": FaultParameter(
                    "The bytes of the body that still arrive.",
                    low=0,
                    high=100_000_000,
                    default=0,
                    only_with=("phase", "body"),
                ),
            },
        ),
        "stale-read": FaultType(
            "Reads show the state before the last writes, as from a replica that lags.",
            {
                "lag": FaultParameter(
                    "The most changes by which reads lag.",
                    low=1,
                    high=1_000_000,
                    default=1,
                    never_with="seconds",
                ),
                "seconds": FaultParameter(
                    "The longest time by which reads lag.", low=0.001, high=60, is_whole=False
                ),
                "reads": FaultParameter(
                    "All reads, or those with `Data-Access-Intent: ReadOnly`.",
                    words=("all", "readonly"),
                    default="all",
                ),
            },
            methods=READ_METHODS,
            needs_set=True,
            remembers=True,
        ),
        "touch": FaultType(
            "A background job changes the record after it was read, so that its ETag is stale.",
            {"field": FaultParameter("The property that changes; by default, the first text.")},
            methods=_GET,
            needs_record=True,
        ),
        "lock": FaultType(
            "503: another session is updating records of the entity set.",
            methods=WRITE_METHODS,
            needs_set=True,
        ),
        "link-expired": FaultType(
            "410: the link to a page is not valid any longer.",
            {"page": FaultParameter("The number of the page.", low=2, high=1_000_000, default=2)},
            methods=_GET,
        ),
        "page-shift": FaultType(
            "Records appear or vanish between two pages.",
            {
                "n": FaultParameter(
                    "The records that the next page repeats, or skips if negative.",
                    low=-100,
                    high=100,
                    default=1,
                )
            },
            methods=_GET,
            least_page=2,
        ),
        "token-expired": FaultType(
            "401 until the client sends another token.",
            {
                "by": FaultParameter(
                    "Who refuses the token: the service, or a gateway in front of it.",
                    words=("service", "gateway"),
                    default="service",
                )
            },
        ),
        "rights-lost": FaultType(
            "403: the client lacks a right on the entity set.", needs_set=True
        ),
        "hook": FaultType(
            "Notifications of a subscription come otherwise than expected.",
            {
                "mode": FaultParameter(
                    "They come twice, in the opposite order, later, or not at all; the "
                    "subscription is deleted; or a single `collection` replaces them.",
                    words=(
                        "duplicate",
                        "reorder",
                        "delay",
                        "drop",
                        "drop-subscription",
                        "collection",
                    ),
                    default="duplicate",
                ),
                "seconds": FaultParameter(
                    "The delay, by the clock of the profile.",
                    low=0.001,
                    high=86_400,
                    is_whole=False,
                    default=60,
                    only_with=("mode", "delay"),
                ),
            },
            stage=Stage.DELIVERY,
        ),
        "batch-rollback": FaultType(
            "A batch with a snapshot fails: its answers say 201, and nothing is stored.",
            {
                "index": FaultParameter(
                    "The number of the request that fails, from 0.", low=0, high=999, default=0
                )
            },
            stage=Stage.BATCH,
        ),
        "body": FaultType(
            "The body of the answer is not the expected JSON.",
            {
                "kind": FaultParameter(
                    "Truncated JSON, an error in XML, or 500 with an empty message.",
                    words=("truncated", "xml", "empty"),
                    default="truncated",
                )
            },
        ),
        "vanish": FaultType(
            "404: the entity set is missing, as during an upgrade.", needs_set=True
        ),
    }
)
"""All faults, by name."""


def parse_fault(text: str, place: str) -> Fault:
    """The fault in a text; raises `Refusal` (400) that names `place`, where the text is."""
    return parse_parts(text, place)[0]


def parse_parts(text: str, place: str, others: Iterable[str] = ()) -> tuple[Fault, dict[str, str]]:
    """A fault, and the values of those parameters in its text that `others` names.

    Raises `Refusal` (400) that names `place`, where the text is.
    """
    if len(text) > LONGEST_FAULT:
        raise refuse(errors.LONG_FAULT, place, place=place, limit=LONGEST_FAULT)
    name, *parts = [each.strip() for each in text.split(";")]
    fault_type = FAULTS.get(name)
    if fault_type is None:
        faults = ", ".join(FAULTS)
        raise refuse(
            errors.UNKNOWN_FAULT, place, known=FAULTS, name=name, place=place, faults=faults
        )
    known = set(others)
    texts = _texts(parts, place)
    values = {
        each: fault_type.parameters[each].value(each, value, place)
        for each, value in texts.items()
        if each in fault_type.parameters
    }
    rest = {each: value for each, value in texts.items() if each not in fault_type.parameters}
    fault = Fault(name, _completed(fault_type, values, place))
    for each in rest:
        if each not in known:
            raise _unknown_parameter(fault, each, place)
    return fault, rest


def _texts(parts: Iterable[str], place: str) -> dict[str, str]:
    texts: dict[str, str] = {}
    for part in parts:
        name, equals, value = part.partition("=")
        name, value = name.strip(), value.strip()
        if not (name and equals and value):
            raise refuse(
                errors.INVALID,
                place,
                value=part,
                place=f"a parameter in {place}",
                wanted="a name, = and a value after each semicolon, such as retry-after=2",
            )
        if name in texts:
            raise refuse(errors.TWICE, place, what=name, place=place)
        texts[name] = value
    return texts


def _completed(
    fault_type: FaultType, values: Mapping[str, FaultValue], place: str
) -> Mapping[str, FaultValue]:
    """The values with the defaults, in the order of the table."""
    completed: dict[str, FaultValue] = {}
    for name, parameter in fault_type.parameters.items():
        is_excluded = parameter.never_with in values
        if is_excluded and name in values:
            other = parameter.never_with
            raise refuse(errors.EXCLUDED, place, one=name, other=other, place=place)
        if parameter.only_with is not None:
            other, needed = parameter.only_with
            is_excluded = completed.get(other) != needed
            if is_excluded and name in values:
                wanted = f"{other}={needed}"
                raise refuse(errors.WITHOUT_EFFECT, place, name=name, place=place, needed=wanted)
        value = values.get(name, None if is_excluded else parameter.default)
        if value is not None:
            completed[name] = value
    return MappingProxyType(completed)


def _unknown_parameter(fault: Fault, name: str, place: str) -> Refusal:
    known = fault.type.parameters
    advice = f"It has {', '.join(known)}." if known else "Remove it."
    if name == "times":
        advice = "Write it as a member of the rule."
    owner = f"{fault.name} in {place}"
    return refuse(
        errors.UNKNOWN_PARAMETER, place, known=known, owner=owner, name=name, advice=advice
    )
