"""Text to tree: operator precedence parsing (OData 4.01, part 2, 5.1.1.15).

One call of `_expression` reads everything up to the bracket that closes it, with the operators on
a stack of its own: a level of parentheses costs three or four Python frames and a chain of
operators none, so that the limits refuse long before the interpreter would.
"""

import re

import msgspec

from comptoir.errors import Refusal
from comptoir.request.expression import faults
from comptoir.request.expression.lexer import (
    AFTER_NAME,
    DELIMITER,
    ENUM_SHAPE,
    JSON_BRACKET,
    LAMBDA_VARIABLE,
    LITERAL_KINDS,
    LITERAL_WORDS,
    LONG_PATH,
    OPERAND,
    OPERATOR,
    QUOTED,
    QUOTED_SHAPES,
    TRUTH_WORDS,
    after_blanks,
    duration_text,
    literal,
)
from comptoir.request.expression.limits import ExpressionLimits
from comptoir.request.expression.operators import (
    LOGICAL_OPERATORS,
    PRECEDENCE,
    PREFIX_OPERATORS,
    UNARY_PRECEDENCE,
    Pending,
    apply_last,
)
from comptoir.request.expression.tree import (
    Call,
    Case,
    Collection,
    In,
    InCollection,
    Lambda,
    LambdaOperator,
    Literal,
    LiteralKind,
    Node,
    Parameter,
    Path,
    walk,
)

DEFAULT_LIMITS = ExpressionLimits()

_LAMBDA_OPERATORS: dict[str, LambdaOperator] = {"any": "any", "all": "all"}
_PATH_HEADS = frozenset(("$it", "$this", "$root"))


def parse_expression(
    text: str, limits: ExpressionLimits = DEFAULT_LIMITS, option: str = "$filter"
) -> Node:
    """The tree of the whole of `text`, an expression that is percent-decoded already.

    Function names and operators are accepted in any case (OData 4.01, part 2, 5.1.1). Raises
    `Refusal`, with `option` as its target: INVALID_URL when the text is no expression or exceeds
    `limits`, NOT_IMPLEMENTED for what is valid OData and not supported (annotation values, keys
    and functions inside a path, qualified functions, spatial literals, JSON objects).
    """
    parser = ExpressionParser(text, limits, option)
    node = parser.expression()
    parser.finish()
    return node


class ExpressionParser:
    """Reads expressions out of `text`, beginning at `position`, which it moves behind them.

    `parse_expression` and `parse_orderby` drive it; so do the readers of options in which
    expressions are only a part.
    """

    __slots__ = ("_limits", "_nodes", "_opened", "_option", "position", "text")

    def __init__(self, text: str, limits: ExpressionLimits, option: str) -> None:
        self.text = text
        self.position = after_blanks(text, 0)
        self._limits = limits
        self._option = option
        self._nodes = 0
        self._opened: list[int] = []

    def expression(self) -> Node:
        """The expression at `position`, read as far as it goes; raises as `parse_expression`."""
        node = self._expression()
        # A tree cannot be taller than it has nodes, and hardly any expression has that many.
        if self._nodes >= self._limits.height:
            for descendant, level in walk(node):
                if level > self._limits.height:
                    raise faults.too_tall(descendant.position, self._limits.height, self._option)
        return node

    def finish(self) -> None:
        """Raise unless nothing but blanks follows `position`."""
        if after_blanks(self.text, self.position) != len(self.text):
            raise faults.no_operator(self.text, self.position, "", -1, self._option)

    def _expression(self) -> Node:
        text = self.text
        operands: list[Node] = []
        pending: list[Pending] = []
        while True:
            self._count(self.position)
            found = OPERAND.match(text, self.position)
            if found is None:
                raise faults.no_value(text, self.position, self._option)
            prefix = PREFIX_OPERATORS.get(found.lastgroup)
            if prefix is not None:
                pending.append((UNARY_PRECEDENCE, prefix, self.position))
                self.position = found.end()
                continue
            operands.append(self._operand(found))
            infix = OPERATOR.match(text, self.position)
            while infix is not None:
                word = infix[1]
                if word not in PRECEDENCE:
                    word = word.lower()
                precedence = PRECEDENCE[word]
                # A chain of one logical operator stays pending, to become one node.
                yields = precedence + (word in LOGICAL_OPERATORS)
                while pending and pending[-1][0] >= yields:
                    apply_last(operands, pending)
                self.position = infix.end()
                if word != "in":
                    if not pending or pending[-1][0] != precedence:
                        self._nodes += 1
                    pending.append((precedence, word, infix.start(1)))
                    break
                operands[-1] = self._in(operands[-1], infix.start(1))
                infix = OPERATOR.match(text, self.position)
            else:
                while pending:
                    apply_last(operands, pending)
                return operands[0]

    def _count(self, position: int) -> None:
        """One more node, whose text is at `position`."""
        self._nodes += 1
        if self._nodes > self._limits.nodes:
            raise faults.too_many_nodes(position, self._limits.nodes, self._option)

    def _operand(self, found: re.Match[str]) -> Node:
        """The value that begins with the word `found`."""
        start, end = found.span()
        group = found.lastgroup
        self.position = end
        if group == "name":
            if self.text[end : end + 1] in AFTER_NAME:
                return self._long_name(start)
            name = found[0]
            word = LITERAL_WORDS.get(name) or TRUTH_WORDS.get(name.lower())
            if word is not None:
                return Literal(*word, start)
            return Path(tuple(name.split("/")), start)
        kind = LITERAL_KINDS.get(group)
        if kind is not None:
            return literal(kind, found[0], start)
        if group == "parenthesis":
            self._nodes -= 1  # The node is the expression inside, which counts itself.
            self._open(start)
            node = self._expression()
            self._delimiter(")")
            self._opened.pop()
            return node
        if group == "array":
            return Collection(self._members(start, "]"), start)
        if group == "parameter":
            return self._parameter(found[0][1:], start)
        if group == "reserved":
            return self._long_name(start)
        if group == "object":
            raise self._json_object(start)
        raise faults.no_value(self.text, start, self._option)

    def _open(self, position: int) -> None:
        """Step into the bracket at `position`."""
        if len(self._opened) >= self._limits.depth:
            raise faults.too_deep(position, self._limits.depth, self._option)
        self._opened.append(position)
        self.position = after_blanks(self.text, position + 1)

    def _delimiter(self, expected: str) -> str:
        """Step over the delimiter at `position`, one of `expected`, and return it."""
        found = DELIMITER.match(self.text, self.position)
        if found is None or found[1][0] not in expected:
            raise faults.no_operator(
                self.text, self.position, expected, self._opened[-1], self._option
            )
        self.position = found.end()
        return found[1][0]

    def _in(self, left: Node, position: int) -> Node:
        """The membership test of `left` whose operator, at `position`, has been read."""
        self._count(position)
        start = self.position
        if self.text.startswith("(", start):
            return In(left, self._members(start, ")"), position)
        found = OPERAND.match(self.text, start)
        if found is None or found.lastgroup in PREFIX_OPERATORS:
            raise faults.no_value(self.text, start, self._option)
        self._count(start)
        return InCollection(left, self._operand(found), position)

    def _members(self, start: int, closing: str) -> tuple[Node, ...]:
        """The members of the list that opens at `start`."""
        self._open(start)
        members: list[Node] = []
        if self.text.startswith(closing, self.position):
            self.position += 1
        else:
            while True:
                if len(members) == self._limits.in_list:
                    raise faults.too_long_list(start, self._limits.in_list, self._option)
                members.append(self._member(closing))
                if self._delimiter("," + closing) == closing:
                    break
        self._opened.pop()
        return tuple(members)

    def _member(self, closing: str) -> Node:
        """A member of a list; a literal that stands alone is no node of its own."""
        start = self.position
        found = OPERAND.match(self.text, start)
        if found is None:
            return self._expression()
        if found.lastgroup == "json" and closing == "]":
            self.position = found.end()
            return self._json_string(found[0], start)
        kind = LITERAL_KINDS.get(found.lastgroup)
        if kind is not None and DELIMITER.match(self.text, found.end()):
            self.position = found.end()
            return literal(kind, found[0], start)
        return self._expression()

    def _json_string(self, text: str, start: int) -> Node:
        try:
            return Literal("string", msgspec.json.decode(text, type=str), start)
        except msgspec.DecodeError as error:
            raise faults.no_value(self.text, start, self._option) from error

    def _json_object(self, start: int) -> Refusal:
        """What to say of the brace at `start`: it opens an object, or what is none."""
        open_brackets = 0
        for found in JSON_BRACKET.finditer(self.text, start):
            if found[0][0] in "{[":
                open_brackets += 1
            elif found[0][0] in "}]":
                open_brackets -= 1
            if open_brackets > self._limits.depth:
                return faults.too_deep(found.start(), self._limits.depth, self._option)
            if open_brackets == 0:
                try:
                    msgspec.json.decode(self.text[start : found.end()], type=dict)
                except msgspec.DecodeError:
                    break
                return faults.not_supported("a JSON object", start, self._option)
        return faults.no_value(self.text, start, self._option)

    def _parameter(self, name: str, start: int) -> Node:
        follow = self.text[self.position : self.position + 1]
        if follow in (".", "#"):
            raise faults.not_supported("an annotation value", start, self._option)
        if follow == "/":
            raise faults.not_supported("a path after a parameter alias", start, self._option)
        return Parameter(name, start)

    def _long_name(self, start: int) -> Node:
        """What begins with a name at `start`, and is more than a chain of property names."""
        found = LONG_PATH.match(self.text, start)
        if found is None:
            raise faults.no_value(self.text, start, self._option)
        path = found[0]
        if "@" in path:
            raise faults.not_supported("an annotation value", start, self._option)
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
                raise faults.not_supported("a path after a call", start, self._option)
            return node
        if follow in AFTER_NAME:
            raise faults.bad_path(path + follow, start, self._option)
        return Path(segments, start)

    def _check_reserved(self, segments: tuple[str, ...], start: int) -> None:
        """Raise unless every segment with a `$` stands where the standard has it."""
        head, *tail = segments
        if tail and tail[-1] == "$count":
            tail.pop()
        if head == "$these":
            raise faults.not_supported("`$these`, the current collection,", start, self._option)
        if "$filter" in tail:
            raise faults.not_supported("`$filter` inside a path", start, self._option)
        if ("$" in head and head not in _PATH_HEADS) or any("$" in name for name in tail):
            raise faults.bad_path("/".join(segments), start, self._option)

    def _called(self, segments: tuple[str, ...], start: int) -> Node:
        """The call, lambda or case whose opening parenthesis is at `position`."""
        last = segments[-1].lower()
        if last in _LAMBDA_OPERATORS:
            return self._lambda(segments[:-1], _LAMBDA_OPERATORS[last], start)
        if len(segments) > 1 or "$" in last:
            raise faults.not_supported("a key or function inside a path", start, self._option)
        if "." in last:
            raise faults.not_supported(f"the function `{segments[0]}`", start, self._option)
        return self._case(start) if last == "case" else self._call(last, start)

    def _call(self, name: str, start: int) -> Node:
        self._open(self.position)
        arguments: list[Node] = []
        if self.text.startswith(")", self.position):
            self.position += 1
        else:
            arguments.append(self._expression())
            while self._delimiter(",)") == ",":
                arguments.append(self._expression())
        self._opened.pop()
        return Call(name, tuple(arguments), start)

    def _case(self, start: int) -> Node:
        self._open(self.position)
        branches: list[tuple[Node, Node]] = []
        while True:
            condition = self._expression()
            self._delimiter(":")
            branches.append((condition, self._expression()))
            if self._delimiter(",)") == ")":
                break
        self._opened.pop()
        return Case(tuple(branches), start)

    def _lambda(self, path: tuple[str, ...], operator: LambdaOperator, start: int) -> Node:
        self._count(start)
        self._open(self.position)
        if path and operator == "any" and self.text.startswith(")", self.position):
            self.position += 1
            self._opened.pop()
            return Lambda(Path(path, start), operator, None, None, start)
        variable = LAMBDA_VARIABLE.match(self.text, self.position)
        if not path or variable is None:
            raise faults.bad_lambda(operator, start, self._option)
        self.position = variable.end()
        predicate = self._expression()
        self._delimiter(")")
        self._opened.pop()
        return Lambda(Path(path, start), operator, variable[1], predicate, start)

    def _quoted(self, prefix: str, start: int) -> Node:
        """The literal of a type that `prefix` names, its opening quote at `position`."""
        if "." in prefix:
            kind: LiteralKind = "enum"
            shape = ENUM_SHAPE
        elif prefix.lower() in QUOTED_SHAPES:
            kind, shape = QUOTED_SHAPES[prefix.lower()]
        else:
            raise faults.bad_prefix(prefix, start, self._option)
        quoted = QUOTED.match(self.text, self.position)
        if quoted is None:
            raise faults.no_value(self.text, self.position, self._option)
        content = quoted[0][1:-1]
        if not shape.fullmatch(content):
            raise faults.bad_quoted(prefix, start, self._option)
        self.position = quoted.end()
        if kind == "enum":
            return Literal(kind, prefix + quoted[0], start)
        if kind == "duration":
            content = duration_text(content)
        return Literal(kind, content, start)
