r"""`$search` (OData URL Conventions 4.01, section 5.1.8): words and phrases joined by AND, OR, NOT.

A word is a sequence of characters of any script without blanks, NUL, double quotes and
parentheses; it does not begin with a single quote. A phrase is in double quotes, with `\"` and `\\`
for the characters that would end it. `AND` and `OR` between two searches and `NOT` before one are
operators, in upper case alone; anywhere else they are words.
"""

import re
from typing import Literal as OneOf
from typing import TypeAlias

from comptoir.errors import Refusal
from comptoir.request.expression import DEFAULT_LIMITS, ExpressionLimits, Syntax, faults

SEARCH = "$search"

_TOKEN = re.compile(
    r"""
      (?P<open>\()
    | (?P<close>\))
    | "(?P<phrase>[^"\\\0]*(?:\\.[^"\\\0]*)*)"
    | (?P<word>[^\s()"'\0][^\s()"\0]*)
    """,
    re.VERBOSE | re.DOTALL,
)
_BLANKS = re.compile(r"\s*")
_ESCAPED = re.compile(r'\\(["\\])')
_JOINING = frozenset({"AND", "OR"})
_OPERATORS = _JOINING | {"NOT"}
_EXAMPLE = 'Write for example `chair AND NOT "office chair"`.'

SearchOperator: TypeAlias = OneOf["and", "or"]


class SearchTerm(Syntax, frozen=True):
    """A word or a phrase to be found; `text` has no quotes and no escapes, and is not empty."""

    text: str
    position: int = 0


class SearchNot(Syntax, frozen=True):
    """What must not be found."""

    operand: "SearchNode"
    position: int = 0


class SearchJunction(Syntax, frozen=True):
    """A chain of two or more searches joined by the same operator; a blank joins by `and`."""

    operator: SearchOperator
    operands: tuple["SearchNode", ...]
    position: int = 0


SearchNode: TypeAlias = SearchTerm | SearchNot | SearchJunction


def parse_search(
    text: str, limits: ExpressionLimits = DEFAULT_LIMITS, option: str = SEARCH
) -> SearchNode:
    """The tree of the whole of `text`, which is percent-decoded already.

    `limits` hold as for expressions: a chain is one node above its operands however long it is,
    and `depth` counts the parentheses and negations that are open at one place. Raises `Refusal`
    (400) with the place of the fault and `option` as its target.
    """
    reader = SearchReader(text, 0, limits, option)
    node = reader.search()
    if reader.position != len(text):
        remedy = "Open it before, or leave it out."
        raise faults.misplaced(text, reader.position, "a word, AND or OR", remedy, option)
    return node


def print_search(node: SearchNode) -> str:
    """The canonical text of `node`, the inverse of `parse_search`: AND written, quotes if needed.

    A chain directly within a chain of its own kind stands in parentheses.
    """
    match node:
        case SearchTerm():
            return _print_term(node.text)
        case SearchNot():
            inner = print_search(node.operand)
            return f"NOT ({inner})" if isinstance(node.operand, SearchJunction) else f"NOT {inner}"
        case SearchJunction():
            parts = [
                f"({print_search(each)})"
                if isinstance(each, SearchJunction) and (node.operator, each.operator) != _NESTED
                else print_search(each)
                for each in node.operands
            ]
            return f" {node.operator.upper()} ".join(parts)


_NESTED = ("or", "and")
"""A chain of AND within one of OR needs no parentheses."""


def _print_term(text: str) -> str:
    word = _TOKEN.fullmatch(text)
    is_word = word is not None and word.lastgroup == "word"
    # an operator could join what is around it, and a semicolon ends an option of `$expand`
    if is_word and text not in _OPERATORS and ";" not in text:
        return text
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


class SearchReader:
    """Reads a search out of `text`, beginning at `position`, which it moves behind it.

    It ends at the end of the text, or at a parenthesis that it did not open.
    """

    def __init__(self, text: str, position: int, limits: ExpressionLimits, option: str) -> None:
        self.text = text
        self.position = position
        self._limits = limits
        self._option = option
        self._nodes = 0

    def search(self, depth: int = 0) -> SearchNode:
        """The search at `position`, inside so many others; raises as `parse_search`."""
        operands, at = [self._all(depth)], 0
        while self._following() == "OR":
            start = self._operator()
            at = at or start
            operands.append(self._all(depth))
        return self._joined("or", operands, at)

    def _all(self, depth: int) -> SearchNode:
        operands, at = [self._one(depth)], 0
        while True:
            word = self._following()
            if word is None or word == "OR":
                return self._joined("and", operands, at)
            start = self._operator() if word == "AND" else self._behind_blanks()
            at = at or start
            operands.append(self._one(depth))

    def _joined(self, operator: SearchOperator, operands: list[SearchNode], at: int) -> SearchNode:
        if len(operands) == 1:
            return operands[0]
        self._count(at)
        return SearchJunction(operator, tuple(operands), at)

    def _one(self, depth: int) -> SearchNode:
        start = self.position = self._behind_blanks()
        token = _TOKEN.match(self.text, start)
        if token is None or token.lastgroup == "close":
            raise self._no_term(start)
        if token.lastgroup == "open":
            self._check_depth(start, depth)
            self.position = token.end()
            node = self.search(depth + 1)
            self._close(start)
            return node
        self._count(start)
        if token[0] == "NOT" and self._applies(token):
            self._check_depth(start, depth)
            self._operator()
            return SearchNot(self._one(depth + 1), start)
        self.position = token.end()
        text = token[0] if token["phrase"] is None else _ESCAPED.sub(r"\1", token["phrase"])
        if not text.strip():
            raise self._no_term(start)
        return SearchTerm(text, start)

    def _following(self) -> str | None:
        """What follows a term: `AND` or `OR`, a term as `""`, or None where the search ends."""
        start = self._behind_blanks()
        if start == len(self.text) or self.text[start] == ")":
            self.position = start
            return None
        if start == self.position:
            raise faults.misplaced(self.text, start, "a blank", _EXAMPLE, self._option)
        token = _TOKEN.match(self.text, start)
        if token is None:
            raise self._no_term(start)
        return token[0] if token[0] in _JOINING and self._applies(token) else ""

    def _applies(self, word: re.Match[str]) -> bool:
        """Whether an operator is one: a blank and a search follow it. Otherwise it is a word."""
        blanks = _BLANKS.match(self.text, word.end())
        if blanks is None or not blanks[0]:
            return False
        operand = _TOKEN.match(self.text, blanks.end())
        return operand is not None and operand.lastgroup != "close"

    def _operator(self) -> int:
        """Step over the operator after the blanks."""
        start = self._behind_blanks()
        token = _TOKEN.match(self.text, start)
        self.position = start if token is None else token.end()
        return start

    def _close(self, opened: int) -> None:
        """Step over the parenthesis that closes the one at `opened`."""
        if not self.text.startswith(")", self.position):
            remedy = f"It closes the parenthesis at column {opened + 1}."
            raise faults.misplaced(self.text, self.position, "`)`", remedy, self._option)
        self.position += 1

    def _count(self, position: int) -> None:
        self._nodes += 1
        if self._nodes > self._limits.nodes:
            raise faults.misused(
                position,
                f"the search has more than {self._limits.nodes} parts. Search for less at once.",
                self._option,
            )

    def _check_depth(self, position: int, depth: int) -> None:
        if depth >= self._limits.depth:
            raise faults.misused(
                position,
                f"the search is nested more than {self._limits.depth} deep. Write it flatter.",
                self._option,
            )

    def _no_term(self, position: int) -> Refusal:
        if not self.text.strip():
            return faults.misused(0, f"the search is empty. {_EXAMPLE}", self._option)
        remedy = "Put it in double quotes to search for it, with `\\` before a quote inside."
        expected = "a word, or a phrase in double quotes,"
        return faults.misplaced(self.text, position, expected, remedy, self._option)

    def _behind_blanks(self) -> int:
        found = _BLANKS.match(self.text, self.position)
        return self.position if found is None else found.end()
