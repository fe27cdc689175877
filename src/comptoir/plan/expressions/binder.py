"""Expressions bound to an entity type: each node of the syntax to the value that it means."""

from collections.abc import Mapping, Sequence

from comptoir.edm.model import NAMESPACE, EntitySet, Model
from comptoir.plan.bound import (
    Choice,
    Comparison,
    Constant,
    Exists,
    IsNull,
    Junction,
    Not,
    Null,
    Value,
)
from comptoir.plan.expressions import types
from comptoir.plan.expressions.arithmetic import ARITHMETIC, bind_arithmetic, bind_negation
from comptoir.plan.expressions.casts import bind_cast, bind_isof
from comptoir.plan.expressions.comparisons import (
    COMPARING,
    alike,
    as_type,
    bind_comparison,
    bind_list,
    negated,
)
from comptoir.plan.expressions.functions import bind_call, check_name
from comptoir.plan.expressions.paths import Paths, Place
from comptoir.plan.expressions.slots import Slots
from comptoir.plan.expressions.terms import Operand, Terms, name_of
from comptoir.plan.expressions.typed import Typed
from comptoir.request.expression.tree import (
    Binary,
    Call,
    Case,
    Collection,
    In,
    InCollection,
    Lambda,
    Literal,
    Logical,
    Node,
    Path,
    Unary,
)

MOST_NESTED = 3
"""How many collections may be asked about within one another."""

_NONE: Mapping[str, Typed] = {}


class Binder:
    """Binds the expressions of one option; its values gather in `slots`.

    `computed` are names beside the properties of the set; with `alone`, there are no others.
    Values are added to those that `slots` has; `nested` as in `BindingContext`.
    """

    def __init__(
        self,
        model: Model,
        entity_set: EntitySet,
        option: str,
        computed: Mapping[str, Typed] = _NONE,
        *,
        nested: bool = False,
        alone: bool = False,
        slots: Slots | None = None,
    ) -> None:
        self.slots = Slots() if slots is None else slots
        self._terms = Terms(option, self.slots)
        self._paths = Paths(self._terms, model, entity_set, computed, nested=nested, alone=alone)
        self._nested = 0

    def condition(self, node: Node) -> Typed:
        """A node that must be true or false, or unknown; raises `Refusal` as `value` does."""
        typed = self.value(node)
        if typed.type is types.BOOLEAN:
            return typed
        if typed.type is types.NULL:
            return Typed(Null(), types.BOOLEAN, nullable=True)
        raise self._terms.misused(
            node,
            f"{name_of(node)} is {typed.type.expected}, not a condition. Compare it with a value.",
        )

    def value(self, node: Node) -> Typed:
        """A node and its type.

        Raises `Refusal`: 400 with the place of the fault, 501 for what is not supported.
        """
        match node:
            case Path():
                return self._paths.value(node)
            case Literal():
                return self._terms.settled(Operand(node, None))
            case Logical():
                return self._junction(node)
            case Binary() if node.operator in COMPARING:
                sides = self._operand(node.left), self._operand(node.right)
                return bind_comparison(self._terms, node, *sides)
            case Binary() if node.operator in ARITHMETIC:
                sides = self._operand(node.left), self._operand(node.right)
                return bind_arithmetic(self._terms, node, *sides)
            case Unary(operator="not"):
                held = self.condition(node.operand)
                return Typed(negated(held.value), types.BOOLEAN, held.nullable)
            case Unary():
                return bind_negation(self._terms, node, self._operand(node.operand))
        return self._beyond_operators(node)

    def _beyond_operators(self, node: Node) -> Typed:
        match node:
            case In():
                left = self._operand(node.left)
                return bind_list(self._terms, node, left, self._operands(node.items))
            case InCollection(collection=Collection(items=items)):
                left = self._operand(node.left)
                return bind_list(self._terms, node, left, self._operands(items))
            case InCollection():
                return self._in_collection(node)
            case Call(name="cast" | "isof"):
                return self._of_type(node)
            case Call():
                check_name(self._terms, node)
                return bind_call(self._terms, node, self._operands(node.arguments))
            case Case():
                return self._case(node)
            case Lambda():
                return self._lambda(node)
        raise self._terms.unsupported(node)

    def _operand(self, node: Node) -> Operand:
        if isinstance(node, Literal):
            return Operand(node, None)
        return Operand(node, self.value(node))

    def _operands(self, nodes: Sequence[Node]) -> list[Operand]:
        return [self._operand(each) for each in nodes]

    def _junction(self, node: Logical) -> Typed:
        held = [self.condition(each) for each in node.operands]
        values = tuple([each.value for each in held])
        nullable = any(each.nullable for each in held)
        return Typed(Junction(node.operator, values), types.BOOLEAN, nullable)

    def _in_collection(self, node: InCollection) -> Typed:
        if isinstance(node.collection, Path):
            place, _ = self._paths.place(node.collection)
            if not place.many:
                typed = self.value(node.collection)
                raise self._terms.misused(
                    node.collection,
                    f"{name_of(node.collection)} is {typed.type.expected}, not a collection. "
                    "Write a list in parentheses.",
                )
            raise self._terms.unsupported(
                node.collection, f"in with the related values {name_of(node.collection)}"
            )
        raise self._terms.misused(
            node.collection,
            f"{name_of(node.collection)} is no collection. Write a list in parentheses.",
        )

    def _of_type(self, node: Call) -> Typed:
        if len(node.arguments) not in (1, 2):
            raise self._terms.misused(
                node, f"{node.name} takes 1 or 2 arguments, but {len(node.arguments)} are given."
            )
        wanted = node.arguments[-1]
        if isinstance(wanted, Path) and wanted.segments[0].startswith(f"{NAMESPACE}."):
            return self._of_record_type(node, wanted)
        if len(node.arguments) == 1:
            raise self._terms.misused(
                node, f"{node.name} of the record takes the type of a record: {NAMESPACE}.…"
            )
        operand = self._operand(node.arguments[0])
        if node.name == "isof":
            return bind_isof(self._terms, node, operand)
        return bind_cast(self._terms, node, operand)

    def _of_record_type(self, node: Call, wanted: Path) -> Typed:
        self._paths.check_known(wanted, wanted.segments[0])
        if node.name == "cast":
            raise self._terms.unsupported(wanted, f"cast to the type {wanted.segments[0][:100]}")
        place, exists = self._paths.root, None
        if len(node.arguments) == 2:
            first = node.arguments[0]
            if not isinstance(first, Path):
                return Typed(Constant(value=False), types.BOOLEAN)
            place, rest = self._paths.place(first)
            if rest:
                self.value(first)
                return Typed(Constant(value=False), types.BOOLEAN)
            exists = self.value(first) if place.steps else None
        if wanted.segments[0] != f"{NAMESPACE}.{place.entity_set.type.name}":
            return Typed(Constant(value=False), types.BOOLEAN)
        if exists is None:
            return Typed(Constant(value=True), types.BOOLEAN)
        return Typed(Not(IsNull(exists.value)), types.BOOLEAN)

    def _case(self, node: Case) -> Typed:
        conditions = [self.condition(condition) for condition, _ in node.branches]
        values = [self.value(value) for _, value in node.branches]
        common = values[0]
        for (_, value), typed in zip(node.branches, values, strict=True):
            common, _ = alike(self._terms, value, (node, common), (value, typed))
            if common.type is types.NULL:
                common = typed
        values = [as_type(each, common.type) for each in values]
        if types.RECORD in [each.type for each in values]:
            raise self._terms.unsupported(node, "case with records as values")
        surely = any(each.value == Constant(value=True) for each in conditions)
        nullable = not surely or any(each.nullable for each in values)
        choice = Choice(
            tuple([each.value for each in conditions]), tuple([each.value for each in values])
        )
        most = max(each.most for each in values)
        return Typed(choice, common.type, nullable, most)

    def _lambda(self, node: Lambda) -> Typed:
        place = self._paths.records(node.path)
        if self._nested == MOST_NESTED:
            raise self._terms.unsupported(
                node, f"{node.operator} within more than {MOST_NESTED} others"
            )
        if node.predicate is None or node.variable is None:
            return Typed(Exists(place.steps, None), types.BOOLEAN)
        variables = self._paths.variables
        number = place.steps[-1].number
        inner = Place(place.entity_set, number)
        self._paths.variables = {**variables, node.variable: inner}
        self._nested += 1
        held = self.condition(node.predicate)
        self._nested -= 1
        self._paths.variables = variables
        if node.operator == "any":
            return Typed(Exists(place.steps, held.value), types.BOOLEAN)
        failing: Value = Not(held.value)
        if held.nullable:
            failing = Comparison("ne", held.value, Constant(value=True), nullable=True)
        return Typed(Not(Exists(place.steps, failing)), types.BOOLEAN)
