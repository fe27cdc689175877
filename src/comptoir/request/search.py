r"""`$search` (OData URL Conventions 4.01, section 5.1.8): words and phrases joined by AND, OR, NOT.

A word consists of characters of any script except blanks, NUL, double quotes and parentheses; it
does not begin with a single quote. A phrase is in double quotes, with `\"` and `\\` for a quote
and a backslash in it. `AND` and `OR` between two searches and `NOT` before one are operators if
they are in upper case; in other places they are words.
"""

import re
from typing import Literal as OneOf
from typing import TypeAlias

from comptoir.errors import refusal_rows as rows
from comptoir.errors.refusal import Refusal
from comptoir.request.expression.parser import DEFAULT_LIMITS, ExpressionLimits
from comptoir.request.expression.reader import OptionReader
from comptoir.request.expression.tree import Syntax

SEARCH = "$search"

_TOKEN = re.compile(
    r"""
      (?P<open>\()
    | (?P<close>\))
    | "(?P<phrase>[^"\\\0]*(?:\\[^\0][^"\\\0]*)*)"
    | (?P<word>[^\s()"'\0][^\s()"\0]*)
    """,
    re.VERBOSE | re.DOTALL,
)
_BLANKS = re.compile(r"\s*")
_ESCAPED = re.compile(r'\\(["\\])')
_JOINING = frozenset({"AND", "OR"})
_EXAMPLE = 'chair AND NOT "office chair"'

SearchOperator: TypeAlias = OneOf["and", "or"]


class SearchTerm(Syntax, frozen=True):
    """A word or a phrase, without quotes and escapes; it is not empty."""

    text: str
    position: int = 0


class SearchNot(Syntax, frozen=True):
    """A search that must not match."""

    operand: "SearchNode"
    position: int = 0


class SearchJunction(Syntax, frozen=True):
    """Two or more searches joined by the same operator; a blank means `and`."""

    operator: SearchOperator
    operands: tuple["SearchNode", ...]
    position: int = 0


SearchNode: TypeAlias = SearchTerm | SearchNot | SearchJunction


def parse_search(text: str, limits: ExpressionLimits = DEFAULT_LIMITS) -> SearchNode:
    """The tree of a percent-decoded search.

    `limits` apply as to expressions: a chain is one node above its operands however long it is,
    and `depth` counts the parentheses and negations that are open at one place. Raises `Refusal`
    (400) with the place of the error and `$search` as its target.
    """
    reader = SearchReader(text, limits, SEARCH)
    node = reader.search()
    if reader.position != len(text):
        raise reader.misplaced(rows.CLOSED_SEARCH, reader.position, "a word, AND or OR")
    return node


class SearchReader(OptionReader):
    """Reads a search, up to the end of the text or a parenthesis that it did not open."""

    __slots__ = ("_limits", "_nodes")

    def __init__(self, text: str, limits: ExpressionLimits, option: str, position: int = 0) -> None:
        super().__init__(text, option, position)
        self._limits = limits
        self._nodes = 0

    def search(self, depth: int = 0) -> SearchNode:
        """The search at `position`, inside `depth` others; raises as `parse_search`."""
        operands, at = [self._all(depth)], 0
        while self._next_word() == "OR":
            start = self._operator()
            at = at or start
            operands.append(self._all(depth))
        return self._joined("or", operands, at)

    def _all(self, depth: int) -> SearchNode:
        operands, at = [self._one(depth)], 0
        while True:
            word = self._next_word()
            if word is None or word == "OR":
                return self._joined("and", operands, at)
            start = self._operator() if word == "AND" else self._after_blanks()
            at = at or start
            operands.append(self._one(depth))

    def _joined(self, operator: SearchOperator, operands: list[SearchNode], at: int) -> SearchNode:
        if len(operands) == 1:
            return operands[0]
        self._count(at)
        return SearchJunction(operator, tuple(operands), at)

    def _one(self, depth: int) -> SearchNode:
        start = self.position = self._after_blanks()
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

    def _next_word(self) -> str | None:
        """The `AND` or `OR` after a term; empty before another term, None at the end."""
        start = self._after_blanks()
        if start == len(self.text) or self.text[start] == ")":
            self.position = start
            return None
        token = _TOKEN.match(self.text, start)
        if token is None:
            raise self._no_term(start)
        if start == self.position:
            raise self.unexpected(start, "a space", _EXAMPLE)
        return token[0] if token[0] in _JOINING and self._applies(token) else ""

    def _applies(self, word: re.Match[str]) -> bool:
        """Whether blanks and a search follow an operator. Otherwise it is a word."""
        blanks = _BLANKS.match(self.text, word.end())
        if blanks is None or not blanks[0]:
            return False
        operand = _TOKEN.match(self.text, blanks.end())
        return operand is not None and operand.lastgroup != "close"

    def _operator(self) -> int:
        """Step over the operator after the blanks; returns its offset."""
        start = self._after_blanks()
        token = _TOKEN.match(self.text, start)
        self.position = start if token is None else token.end()
        return start

    def _close(self, opened: int) -> None:
        """Step over the parenthesis that closes the one at `opened`."""
        if not self.text.startswith(")", self.position):
            raise self.misplaced(rows.OPEN_SEARCH, self.position, "')'", opened=opened + 1)
        self.position += 1

    def _count(self, position: int) -> None:
        self._nodes += 1
        if self._nodes > self._limits.nodes:
            raise self.refuse(rows.SEARCH_TOO_LONG, position, limit=self._limits.nodes)

    def _check_depth(self, position: int, depth: int) -> None:
        limit = self._limits.depth
        if depth >= limit:
            raise self.refuse(rows.SEARCH_TOO_DEEP, position, limit=limit)

    def _no_term(self, position: int) -> Refusal:
        if not self.text.strip():
            return self.empty(_EXAMPLE)
        nul = self.text.find("\0", position)
        if nul >= 0 and self.text[position] in ('"', "\0"):
            return self.refuse(rows.NUL_IN_SEARCH, nul)
        row = rows.NO_TERM
        if self.text.startswith('"', position):
            is_closed = _TOKEN.match(self.text, position) is not None
            row = rows.NO_WORD_IN_PHRASE if is_closed else rows.OPEN_PHRASE
        return self.misplaced(row, position, "a word, or a phrase in double quotes")

    def _after_blanks(self) -> int:
        """The offset after the blanks of any script at `position`."""
        found = _BLANKS.match(self.text, self.position)
        return self.position if found is None else found.end()
