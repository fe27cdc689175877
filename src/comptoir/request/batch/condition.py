"""The member `if` of a request in a JSON batch (OData JSON Format 4.01, 19.1).

Supported are the outcomes of earlier requests, `$<id>/$succeeded`, with `and`, `or`, `not` and
parentheses.
"""

import re

from comptoir.errors import Refusal
from comptoir.messages import quoted
from comptoir.request.batch.tree import (
    Condition,
    Constant,
    Junction,
    Not,
    Succeeded,
    malformed,
    unsupported,
)

DEEPEST = 20
"""Levels of parentheses and `not`."""

LONGEST = 2_500
"""Characters of a condition."""

_TOKEN = re.compile(r"\s*(?:(\()|(\))|\$([\w.~-]+)/\$succeeded\b|(\w+)\b)", re.ASCII)


def parse_condition(text: str, place: str) -> Condition:
    """The condition in an `if`; raises `Refusal`: 501 if it is unsupported, 400 if malformed."""
    if len(text) > LONGEST:
        problem = f"The condition exceeds the limit of {LONGEST} characters"
        raise malformed(f"{place}.if", problem, "Shorten it.")
    reader = _Reader(text, place)
    condition = reader.any_of(0)
    reader.end()
    return condition


class _Reader:
    """Reads a condition, one token ahead."""

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
        return operands[0] if len(operands) == 1 else Junction(word == "and", tuple(operands))

    def _operand(self, word: str, depth: int) -> Condition:
        return self._joined("and", depth) if word == "or" else self._single(depth)

    def _single(self, depth: int) -> Condition:
        if depth > DEEPEST:
            problem = f"The nesting exceeds the limit of {DEEPEST} levels"
            raise malformed(self._place, problem, "Nest the condition less.")
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
            return malformed(self._place, "The condition is incomplete", "Complete it.")
        construct = f"{quoted(rest)} (beyond $<id>/$succeeded, and, or, not and parentheses)"
        return unsupported(self._place, construct)
