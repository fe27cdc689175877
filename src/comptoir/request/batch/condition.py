"""The member `if` of a request in a JSON batch (OData JSON Format 4.01, 19.1).

Of its language the outcomes of earlier requests are supported, `$<id>/$succeeded`, with `and`,
`or`, `not` and parentheses. It is small enough, and far enough from expressions over records, to
have a reader of its own.
"""

import re
from collections.abc import Mapping

import msgspec

from comptoir.errors import Refusal
from comptoir.request.batch.faults import malformed, unsupported

DEEPEST = 20
"""How deep parentheses and `not` may nest."""

LONGEST = 2_500
"""How many characters a condition may have."""

_TOKEN = re.compile(r"\s*(?:(\()|(\))|\$([\w.~-]+)/\$succeeded\b|(\w+)\b)", re.ASCII)


class Succeeded(msgspec.Struct, frozen=True):
    """`$<id>/$succeeded`: whether an earlier request was done."""

    id: str


class Constant(msgspec.Struct, frozen=True):
    """`true` or `false`."""

    value: bool


class Not(msgspec.Struct, frozen=True):
    """The opposite."""

    operand: "Condition"


class Together(msgspec.Struct, frozen=True):
    """Operands of which all must hold, or one of which is enough."""

    all: bool
    operands: tuple["Condition", ...]


Condition = Succeeded | Constant | Not | Together


def parse_condition(text: str, place: str) -> Condition:
    """Read an `if`; raises `Refusal`: 501 for what is not supported, 400 for nonsense."""
    if len(text) > LONGEST:
        raise malformed(f"{place}.if", f"it is longer than {LONGEST} characters.")
    reader = _Reader(text, place)
    condition = reader.any_of(0)
    reader.end()
    return condition


def holds(condition: Condition, succeeded: Mapping[str, bool]) -> bool:
    """Whether a condition holds, given the outcomes of earlier requests."""
    if isinstance(condition, Succeeded):
        return succeeded.get(condition.id, False)
    if isinstance(condition, Constant):
        return condition.value
    if isinstance(condition, Not):
        return not holds(condition.operand, succeeded)
    outcomes = (holds(operand, succeeded) for operand in condition.operands)
    return all(outcomes) if condition.all else any(outcomes)


def ids_in(condition: Condition) -> frozenset[str]:
    """The requests of which a condition speaks."""
    if isinstance(condition, Succeeded):
        return frozenset({condition.id})
    if isinstance(condition, Not):
        return ids_in(condition.operand)
    if isinstance(condition, Together):
        return frozenset[str]().union(*map(ids_in, condition.operands))
    return frozenset()


class _Reader:
    """Reads a condition from left to right, one token ahead."""

    def __init__(self, text: str, place: str) -> None:
        self._text = text
        self._place = f"{place}.if"
        self._position = 0
        self._next: re.Match[str] | None = None
        self._advance()

    def any_of(self, depth: int) -> Condition:
        return self._joined("or", depth)

    def end(self) -> None:
        if self._next is not None or self._text[self._position :].strip():
            raise self._unexpected()

    def _joined(self, word: str, depth: int) -> Condition:
        operands = [self._operand(word, depth)]
        while self._take(word):
            operands.append(self._operand(word, depth))
        return operands[0] if len(operands) == 1 else Together(word == "and", tuple(operands))

    def _operand(self, word: str, depth: int) -> Condition:
        return self._joined("and", depth) if word == "or" else self._single(depth)

    def _single(self, depth: int) -> Condition:
        if depth > DEEPEST:
            raise malformed(self._place, f"it nests deeper than {DEEPEST}.")
        if self._take("not"):
            return Not(self._single(depth + 1))
        for word in ("true", "false"):
            if self._take(word):
                return Constant(word == "true")
        match = self._next
        if match is not None and match[3]:
            self._advance()
            return Succeeded(match[3])
        if match is not None and match[1]:
            self._advance()
            inner = self.any_of(depth + 1)
            if self._next is None or not self._next[2]:
                raise self._unexpected()
            self._advance()
            return inner
        raise self._unexpected()

    def _take(self, word: str) -> bool:
        is_next = self._next is not None and (self._next[4] or "").lower() == word
        if is_next:
            self._advance()
        return is_next

    def _advance(self) -> None:
        if self._next is not None:
            self._position = self._next.end()
        self._next = _TOKEN.match(self._text, self._position)

    def _unexpected(self) -> Refusal:
        rest = self._text[self._position :].strip()
        if not rest or rest[0] in "()":
            return malformed(self._place, "it is not a whole expression.")
        return unsupported(
            self._place, f"{rest[:40]!r} (beyond $<id>/$succeeded, and, or, not and parentheses)"
        )
