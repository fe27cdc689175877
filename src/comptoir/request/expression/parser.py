"""Text to tree: operator precedence parsing (OData 4.01, part 2, 5.1.1.15).

One call of `_expression` reads up to the closing bracket and keeps the operators on a stack of its
own. A level of parentheses costs three or four Python frames and a chain of operators none, so the
limits apply long before the interpreter's.
"""

import re
from collections.abc import Callable, Iterable
from functools import partial
from json import JSONDecoder
from typing import TypeAlias, TypeVar, cast, get_args

import msgspec

from comptoir.errors import refusal_rows as rows
from comptoir.errors.messages import quoted
from comptoir.errors.refusal import Refusal
from comptoir.request.expression import lexer, tree
from comptoir.request.expression.reader import OptionReader


class ExpressionLimits(msgspec.Struct, frozen=True):
    """The bounds of one expression.

    `nodes` counts the nodes of the tree; the literals of a list are part of the list's node.
    `depth` counts the parentheses, calls and lists that are open at one place; a chain of `and` or
    `or` is one level. `in_list` counts the members of one list.
    """

    nodes: int = 2500
    depth: int = 100
    in_list: int = 1000

    @property
    def height(self) -> int:
        """The tallest tree that is accepted, in nodes from the root to the deepest leaf.

        Operators nest without parentheses too (`1 add 1 add 1`, `- - -1`). Two for each level of
        `depth`, and a comparison of two values below them, are enough for expressions that people
        write, and keep recursion over a tree safe.
        """
        return 2 * self.depth + 2


DEFAULT_LIMITS = ExpressionLimits()

UNARY_PRECEDENCE = 7
PRIMARY_PRECEDENCE = 8
PRECEDENCE: dict[str, int] = {
    "or": 1, "and": 2, "eq": 3, "ne": 3, "lt": 4, "le": 4, "gt": 4, "ge": 4, "add": 5, "sub": 5,
    "mul": 6, "div": 6, "divby": 6, "mod": 6, "has": PRIMARY_PRECEDENCE, "in": PRIMARY_PRECEDENCE,
}  # fmt: skip
"""The precedence of each infix operator (OData 4.01, part 2, 5.1.1.15)."""

_PREFIX_OPERATORS: dict[str | None, tree.UnaryOperator] = {"not": "not", "minus": "-"}
"""Groups of `lexer.OPERAND` that precede an operand."""

_LOGICAL_OPERATORS = frozenset(get_args(tree.LogicalOperator))

T = TypeVar("T")

_Pending: TypeAlias = tuple[int, str, int]
"""An operator whose last operand is not read yet: precedence, word, position."""

_LAMBDA_OPERATORS: dict[str, tree.LambdaOperator] = {"any": "any", "all": "all"}
_PATH_HEADS = frozenset(("$it", "$this", "$root"))

COMPUTE = "$compute"

_AS = re.compile(r"[ \t]+(?ai:as)[ \t]+")
_NAME = re.compile(r"[^\W\d]\w*")
_LONGEST_NAME = 128
"""Characters of a name (OData CSDL 4.01, 15.2)."""

_COMPUTE_EXAMPLE = "unitPrice mul quantity as amount"


def parse_expression(
    text: str, limits: ExpressionLimits = DEFAULT_LIMITS, option: str = "$filter"
) -> tree.Node:
    """The tree of a percent-decoded expression.

    Function names and operators are accepted in any case (OData 4.01, part 2, 5.1.1). Raises
    `Refusal` with `option` as its target: 400 for a malformed text or one that exceeds `limits`,
    501 for valid OData that is not supported (annotation values, keys and functions inside a path,
    qualified functions, spatial literals, JSON objects).
    """
    parser = ExpressionParser(text, limits, option)
    node = parser.expression()
    if not parser.at_end():
        raise parser.no_operator(parser.position, "", -1)
    return node


def parse_orderby(
    text: str,
    limits: ExpressionLimits = DEFAULT_LIMITS,
    option: str = "$orderby",
    *,
    lower_case: bool = False,
) -> tuple[tree.OrderItem, ...]:
    """The items of a percent-decoded `$orderby` (OData 4.01, part 2, 5.1.5), at least one.

    `limits` apply to all items together. `lower_case`: so are `asc` and `desc`. Raises as
    `parse_expression` does.
    """
    parser = ExpressionParser(text, limits, option)
    items = parser.order_items(lower_case=lower_case)
    if not parser.at_end():
        raise parser.no_order(parser.position)
    return items


def parse_compute(
    text: str, limits: ExpressionLimits = DEFAULT_LIMITS, option: str = COMPUTE
) -> tuple[tree.ComputeItem, ...]:
    """The items of a percent-decoded `$compute` (OData 4.01, part 2, 5.1.4), at least one.

    `limits` apply to all items together. Raises `Refusal` as `parse_expression` does, and for two
    items with the same name.
    """
    parser = ExpressionParser(text, limits, option)
    if parser.at_end():
        raise parser.empty(_COMPUTE_EXAMPLE)
    items = parser.compute_items()
    if not parser.at_end():
        raise parser.unexpected(parser.position, "',' and another item", _COMPUTE_EXAMPLE)
    return items


class ExpressionParser(OptionReader):
    """Reads expressions from the text of an option, or from a part of it.

    The nodes of all expressions count towards one limit.
    """

    __slots__ = ("_limits", "_nodes", "_opened")

    def __init__(self, text: str, limits: ExpressionLimits, option: str) -> None:
        super().__init__(text, option, lexer.after_blanks(text, 0))
        self._limits = limits
        self._nodes = 0
        self._opened: list[int] = []

    def expression(self) -> tree.Node:
        """The expression at `position`, read as far as it goes; raises as `parse_expression`."""
        node = self._expression()
        # a tree cannot be taller than it has nodes, and hardly any expression has that many
        if self._nodes >= self._limits.height:
            for descendant, level in tree.walk(node):
                if level > self._limits.height:
                    limit = self._limits.height
                    raise self.refuse(rows.TOO_HIGH, descendant.position, limit=limit)
        return node

    def order_items(self, *, lower_case: bool = False) -> tuple[tree.OrderItem, ...]:
        """The items of `$orderby` at `position`, read as far as they go.

        `lower_case` as in `parse_orderby`.
        """
        items: list[tree.OrderItem] = []
        while True:
            start = self.position
            expression = self.expression()
            direction = lexer.DIRECTION.match(self.text, self.position)
            if direction is not None:
                if lower_case and not direction[1].islower():
                    raise self.no_order(self.position)
                self.position = direction.end()
                if not self.at_end() and lexer.DELIMITER.match(self.text, self.position) is None:
                    raise self.no_order(self.position, directed=True)
            descending = direction is not None and direction[1].lower() == "desc"
            items.append(tree.OrderItem(expression, descending, start))
            if not self.comma():
                return tuple(items)

    def compute_items(self) -> tuple[tree.ComputeItem, ...]:
        """The items of `$compute` at `position`, read as far as they go."""
        items: dict[str, tree.ComputeItem] = {}
        while True:
            expression = self.expression()
            alias = self.alias(items, _COMPUTE_EXAMPLE, "an operator or ' as ' and a name")
            items[alias] = tree.ComputeItem(expression, alias, self.position - len(alias))
            if not self.comma():
                return tuple(items.values())

    def alias(self, taken: Iterable[str], example: str, expected: str = "' as ' and a name") -> str:
        """Step over ` as name`; returns the name, which must not be one of `taken`."""
        found = _AS.match(self.text, self.position)
        if found is None:
            raise self.unexpected(self.position, expected, example)
        start = found.end()
        found = _NAME.match(self.text, start)
        if found is None:
            raise self.unexpected(start, "a name", example)
        alias = found[0]
        if alias in taken:
            raise self.refuse(rows.NAME_TWICE, start, name=alias)
        if len(alias) > _LONGEST_NAME:
            raise self.refuse(rows.LONG_NAME, start, name=alias, limit=_LONGEST_NAME)
        self.position = found.end()
        return alias

    def comma(self) -> bool:
        """Step over a comma and the blanks around it; returns whether there is one."""
        found = lexer.DELIMITER.match(self.text, self.position)
        if found is None or found[1][0] != ",":
            return False
        self.position = found.end()
        return True

    def _expression(self) -> tree.Node:
        text = self.text
        operands: list[tree.Node] = []
        pending: list[_Pending] = []
        while True:
            self._count(self.position)
            found = lexer.OPERAND.match(text, self.position)
            if found is None:
                raise self.no_value(self.position)
            prefix = _PREFIX_OPERATORS.get(found.lastgroup)
            if prefix is not None:
                pending.append((UNARY_PRECEDENCE, prefix, self.position))
                self.position = found.end()
                continue
            operands.append(self._operand(found))
            infix = lexer.OPERATOR.match(text, self.position)
            while infix is not None:
                word = infix[1]
                if word not in PRECEDENCE:
                    word = word.lower()
                precedence = PRECEDENCE[word]
                # a chain of one logical operator stays pending, to become one node
                yields = precedence + (word in _LOGICAL_OPERATORS)
                while pending and pending[-1][0] >= yields:
                    _apply_last(operands, pending)
                self.position = infix.end()
                if word != "in":
                    if not pending or pending[-1][0] != precedence:
                        self._nodes += 1
                    pending.append((precedence, word, infix.start(1)))
                    break
                operands[-1] = self._in(operands[-1], infix.start(1))
                infix = lexer.OPERATOR.match(text, self.position)
            else:
                while pending:
                    _apply_last(operands, pending)
                return operands[0]

    def _count(self, position: int) -> None:
        """Count a node, whose text is at `position`."""
        self._nodes += 1
        if self._nodes > self._limits.nodes:
            raise self.refuse(rows.TOO_MANY_NODES, position, limit=self._limits.nodes)

    def _operand(self, found: re.Match[str]) -> tree.Node:
        """The operand whose first token is `found`."""
        start, end = found.span()
        group = found.lastgroup
        self.position = end
        if group == "name":
            if self.text[end : end + 1] in lexer.AFTER_NAME:
                return self._long_name(start)
            name = found[0]
            # true and false may be in any case
            word = name.lower() if name.lower() in ("true", "false") else name
            if word in lexer.LITERAL_WORDS:
                return tree.Literal(lexer.LITERAL_WORDS[word], word, start)
            return tree.Path(tuple(name.split("/")), start)
        literal_type = lexer.LITERAL_TYPES.get(group)
        if literal_type is not None:
            return lexer.literal(literal_type, found[0], start)
        if group == "parenthesis":
            self._nodes -= 1  # the expression inside counts itself
            self._open(start)
            node = self._expression()
            self._delimiter(")")
            self._opened.pop()
            return node
        if group == "array":
            return tree.Collection(self._members(start, "]"), start)
        if group == "parameter":
            return self._parameter(found[0][1:], start)
        if group == "reserved":
            return self._long_name(start)
        if group == "object":
            raise self._json_object(start)
        raise self.no_value(start)

    def _open(self, position: int) -> None:
        """Step into the bracket at `position`."""
        if len(self._opened) >= self._limits.depth:
            raise self.refuse(rows.TOO_DEEP, position, limit=self._limits.depth)
        self._opened.append(position)
        self.position = lexer.after_blanks(self.text, position + 1)

    def _delimiter(self, expected: str) -> str:
        """Step over the delimiter at `position`, which must be one of `expected`; returns it."""
        found = lexer.DELIMITER.match(self.text, self.position)
        if found is None or found[1][0] not in expected:
            raise self.no_operator(self.position, expected, self._opened[-1])
        self.position = found.end()
        return found[1][0]

    def _in(self, left: tree.Node, position: int) -> tree.Node:
        """The membership test of `left`, whose operator at `position` has been read."""
        self._count(position)
        start = self.position
        if self.text.startswith("(", start):
            return tree.In(left, self._members(start, ")"), position)
        found = lexer.OPERAND.match(self.text, start)
        if found is None or found.lastgroup in _PREFIX_OPERATORS:
            raise self.no_value(start)
        self._count(start)
        return tree.InCollection(left, self._operand(found), position)

    def _members(self, start: int, closing: str) -> tuple[tree.Node, ...]:
        """The members of the list that opens at `start`."""
        read = partial(self._member, closing)
        return self._bracketed(start, closing, read, self._limits.in_list)

    def _bracketed(
        self, start: int, closing: str, read: Callable[[], T], most: int | None = None
    ) -> tuple[T, ...]:
        """What `read` returns for each item in the bracket that opens at `start`."""
        self._open(start)
        items: list[T] = []
        is_closed = self.text.startswith(closing, self.position)
        self.position += is_closed
        while not is_closed:
            if len(items) == most:
                raise self.refuse(rows.LONG_LIST, start, limit=most)
            items.append(read())
            is_closed = self._delimiter("," + closing) == closing
        self._opened.pop()
        return tuple(items)

    def _member(self, closing: str) -> tree.Node:
        """A member of a list; a literal alone does not count as a node."""
        start = self.position
        found = lexer.OPERAND.match(self.text, start)
        if found is None:
            return self._expression()
        if found.lastgroup == "json" and closing == "]":
            self.position = found.end()
            return self._json_string(found[0], start)
        literal_type = lexer.LITERAL_TYPES.get(found.lastgroup)
        if literal_type is not None and lexer.DELIMITER.match(self.text, found.end()):
            self.position = found.end()
            return lexer.literal(literal_type, found[0], start)
        return self._expression()

    def _json_string(self, text: str, start: int) -> tree.Node:
        try:
            return tree.Literal("string", msgspec.json.decode(text, type=str), start)
        except msgspec.DecodeError as error:
            raise self.no_value(start) from error

    def _json_object(self, start: int) -> Refusal:
        """The refusal of the brace at `start`, which may open a JSON object."""
        try:
            JSONDecoder().raw_decode(self.text, start)
        except (ValueError, RecursionError):
            return self.no_value(start)
        return self.unsupported("A JSON object", start)

    def _parameter(self, name: str, start: int) -> tree.Node:
        follow = self.text[self.position : self.position + 1]
        if follow in (".", "#"):
            raise self.unsupported("An annotation value", start)
        if follow == "/":
            raise self.unsupported("A path after a parameter alias", start)
        return tree.Parameter(name, start)

    def _long_name(self, start: int) -> tree.Node:
        """An operand that begins with a name at `start`, but is not just a chain of properties."""
        found = lexer.LONG_PATH.match(self.text, start)
        if found is None:
            raise self.no_value(start)
        path = found[0]
        if "@" in path:
            raise self.unsupported("An annotation value", start)
        self.position = found.end()
        follow = self.text[self.position : self.position + 1]
        if follow == "'" and "/" not in path:
            return self._quoted(path, start)
        segments = tuple(path.split("/"))
        if "$" in path:
            self._check_reserved(segments, start)
        if follow == "(":
            node = self._called(segments, start)
            if self.text.startswith("/", self.position):
                raise self.unsupported("A path after a call", start)
            return node
        if follow in lexer.AFTER_NAME:
            raise self.refuse(rows.NOT_A_PATH, start, path=path + follow)
        return tree.Path(segments, start)

    def _check_reserved(self, segments: tuple[str, ...], start: int) -> None:
        """Raise unless the standard allows each segment with a `$` where it is."""
        head, *tail = segments
        if tail and tail[-1] == "$count":
            tail.pop()
        if head == "$these":
            raise self.unsupported("$these (the current collection)", start)
        if "$filter" in tail:
            raise self.unsupported("$filter inside a path", start)
        if ("$" in head and head not in _PATH_HEADS) or any("$" in name for name in tail):
            raise self.refuse(rows.NOT_A_PATH, start, path="/".join(segments))

    def _called(self, segments: tuple[str, ...], start: int) -> tree.Node:
        """The call, lambda or case whose opening parenthesis is at `position`."""
        last = segments[-1].lower()
        if last in _LAMBDA_OPERATORS:
            return self._lambda(segments[:-1], _LAMBDA_OPERATORS[last], start)
        if len(segments) > 1 or "$" in last:
            raise self.unsupported("A key or function inside a path", start)
        if "." in last:
            raise self.unsupported(f"The function {quoted(segments[0])}", start)
        if last == "case":
            branches = self._bracketed(self.position, ")", self._branch)
            if not branches:
                raise self.no_value(self.position - 1)
            return tree.Case(branches, start)
        return tree.Call(last, self._bracketed(self.position, ")", self._expression), start)

    def _branch(self) -> tuple[tree.Node, tree.Node]:
        condition = self._expression()
        self._delimiter(":")
        return condition, self._expression()

    def _lambda(
        self, path: tuple[str, ...], operator: tree.LambdaOperator, start: int
    ) -> tree.Node:
        self._count(start)
        self._open(self.position)
        if path and operator == "any" and self.text.startswith(")", self.position):
            self.position += 1
            self._opened.pop()
            return tree.Lambda(tree.Path(path, start), operator, None, None, start)
        variable = lexer.LAMBDA_VARIABLE.match(self.text, self.position)
        if not path or variable is None:
            raise self.refuse(rows.INCOMPLETE_LAMBDA, start, operator=operator)
        self.position = variable.end()
        predicate = self._expression()
        self._delimiter(")")
        self._opened.pop()
        return tree.Lambda(tree.Path(path, start), operator, variable[1], predicate, start)

    def _quoted(self, prefix: str, start: int) -> tree.Node:
        """The literal of the type that `prefix` names; its opening quote is at `position`."""
        word = prefix.lower()
        form = lexer.ENUM_FORM if "." in word else lexer.QUOTED_FORMS.get(word)
        if form is None:
            raise self.bad_prefix(prefix, start)
        quoted = lexer.QUOTED.match(self.text, self.position)
        if quoted is None:
            raise self.no_value(self.position)
        content = quoted[0][1:-1]
        if not form.fullmatch(content):
            raise self.bad_quoted(prefix, start)
        self.position = quoted.end()
        if "." in word:
            return tree.Literal("enum", prefix + quoted[0], start)
        if word == "binary":
            return tree.Literal("binary", content, start)
        return tree.Literal("duration", lexer.duration_text(content), start)


def _apply_last(operands: list[tree.Node], pending: list[_Pending]) -> None:
    """Apply the last pending operator, in place; logical ones of one type become one node."""
    precedence, word, position = pending.pop()
    if precedence == UNARY_PRECEDENCE:
        operands[-1] = tree.Unary(cast("tree.UnaryOperator", word), operands[-1], position)
    elif word in _LOGICAL_OPERATORS:
        count = 2
        while pending and pending[-1][1] == word:
            position = pending.pop()[2]
            count += 1
        logical = cast("tree.LogicalOperator", word)
        operands[-count:] = [tree.Logical(logical, tuple(operands[-count:]), position)]
    else:
        right = operands.pop()
        operands[-1] = tree.Binary(cast("tree.BinaryOperator", word), operands[-1], right, position)
