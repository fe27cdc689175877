"""The binder of expressions: it turns each node of the syntax into a typed value."""

from collections.abc import Mapping, Sequence

from comptoir.errors import refusal_rows as rows
from comptoir.errors.refusal import Refusal
from comptoir.plan.expressions import types
from comptoir.plan.expressions.arithmetic import ARITHMETIC, bind_arithmetic, bind_negation
from comptoir.plan.expressions.calls import bind_call, bind_cast, bind_isof, check_name
from comptoir.plan.expressions.comparisons import (
    COMPARISONS,
    as_type,
    bind_comparison,
    bind_list,
    common_type,
    negated,
)
from comptoir.plan.expressions.nodes import (
    Choice,
    Comparison,
    Constant,
    Exists,
    IsNull,
    Junction,
    Not,
    Null,
    Slots,
    Value,
)
from comptoir.plan.expressions.operands import (
    BindingContext,
    BoundOption,
    Operand,
    TypedValue,
    described,
    name_of,
)
from comptoir.plan.expressions.paths import PathBinder, PathRecords
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
"""The depth to which `any` and `all` may be nested."""

_NONE: Mapping[str, TypedValue] = {}


class Binder:
    """Binds the expressions of one query option, and adds their values to `slots`.

    `computed` are names besides the properties of the set; `alone`: there are no other names.
    """

    def __init__(
        self,
        binding: BindingContext,
        option: str,
        computed: Mapping[str, TypedValue] = _NONE,
        *,
        alone: bool = False,
        slots: Slots | None = None,
    ) -> None:
        self.slots = Slots() if slots is None else slots
        self._option = BoundOption(option, self.slots, binding)
        self._paths = PathBinder(self._option, binding, computed, alone=alone)
        self._nested = 0

    def condition(self, node: Node) -> TypedValue:
        """Bind a node whose value is Boolean or null; raises `Refusal` as `value` does."""
        typed = self.value(node)
        if typed.type is types.BOOLEAN:
            return typed
        if typed.type is types.NULL:
            return TypedValue(Null(), types.BOOLEAN, nullable=True)
        actual = typed.type.expected
        raise self._option.refuse(rows.NOT_A_CONDITION, node, node=described(node), type=actual)

    def value(self, node: Node) -> TypedValue:
        """Bind a node; raises `Refusal` (400; 501 for what is not supported)."""
        match node:
            case Path():
                return self._paths.value(node)
            case Literal():
                return self._option.value(Operand(node, None))
            case Logical():
                return self._junction(node)
            case Binary() if node.operator in COMPARISONS:
                sides = self._operand(node.left), self._operand(node.right)
                return bind_comparison(self._option, node, *sides)
            case Binary() if node.operator in ARITHMETIC:
                sides = self._operand(node.left), self._operand(node.right)
                return bind_arithmetic(self._option, node, *sides)
            case Unary(operator="not"):
                condition = self.condition(node.operand)
                return TypedValue(negated(condition.value), types.BOOLEAN, condition.nullable)
            case Unary():
                return bind_negation(self._option, node, self._operand(node.operand))
        return self._other_value(node)

    def _other_value(self, node: Node) -> TypedValue:
        match node:
            case In():
                left = self._operand(node.left)
                return bind_list(self._option, node, left, self._operands(node.items))
            case InCollection(collection=Collection(items=items)):
                left = self._operand(node.left)
                return bind_list(self._option, node, left, self._operands(items))
            case InCollection():
                return self._in_collection(node)
            case Call(name="cast" | "isof"):
                return self._of_type(node)
            case Call():
                check_name(self._option, node)
                return bind_call(self._option, node, self._operands(node.arguments))
            case Case():
                return self._case(node)
            case Lambda():
                return self._lambda(node)
        raise self._option.unsupported(node, described(node))

    def _operand(self, node: Node) -> Operand:
        if isinstance(node, Literal):
            return Operand(node, None)
        return Operand(node, self.value(node))

    def _operands(self, nodes: Sequence[Node]) -> list[Operand]:
        return [self._operand(each) for each in nodes]

    def _junction(self, node: Logical) -> TypedValue:
        conditions = [self.condition(each) for each in node.operands]
        values = tuple([each.value for each in conditions])
        nullable = any(each.nullable for each in conditions)
        return TypedValue(Junction(node.operator, values), types.BOOLEAN, nullable)

    def _in_collection(self, node: InCollection) -> TypedValue:
        if isinstance(node.collection, Path):
            records, _ = self._paths.follow(node.collection)
            if not records.many:
                other = f"{self.value(node.collection).type.expected}, "
                raise self._not_a_collection(node.collection, other)
            raise self._option.unsupported(
                node.collection,
                f"The operator in with the related values {name_of(node.collection)}",
            )
        raise self._not_a_collection(node.collection)

    def _not_a_collection(self, node: Node, other: str = "") -> Refusal:
        return self._option.refuse(rows.NOT_A_COLLECTION, node, node=described(node), other=other)

    def _of_type(self, node: Call) -> TypedValue:
        if len(node.arguments) not in (1, 2):
            count = len(node.arguments)
            raise self._option.refuse(rows.ARGUMENTS_OF_TYPE, node, function=node.name, count=count)
        wanted = node.arguments[-1]
        if isinstance(wanted, Path) and wanted.segments[0].startswith(f"{self._option.namespace}."):
            return self._of_entity_type(node, wanted)
        if len(node.arguments) == 1:
            namespace = self._option.namespace
            raise self._option.refuse(
                rows.NOT_AN_ENTITY_TYPE, node, function=node.name, namespace=namespace
            )
        operand = self._operand(node.arguments[0])
        if node.name == "isof":
            return bind_isof(self._option, node, operand)
        return bind_cast(self._option, node, operand)

    def _of_entity_type(self, node: Call, wanted: Path) -> TypedValue:
        self._paths.check_entity_type(wanted, wanted.segments[0])
        if node.name == "cast":
            raise self._option.unsupported(
                wanted, f"The cast to the type {wanted.segments[0][:100]}"
            )
        records, exists = self._paths.root, None
        if len(node.arguments) == 2:
            first = node.arguments[0]
            if not isinstance(first, Path):
                return TypedValue(Constant(value=False), types.BOOLEAN)
            records, rest = self._paths.follow(first)
            if rest:
                self.value(first)
                return TypedValue(Constant(value=False), types.BOOLEAN)
            exists = self.value(first) if records.steps else None
        if wanted.segments[0] != records.entity_set.type.qualified_name:
            return TypedValue(Constant(value=False), types.BOOLEAN)
        if exists is None:
            return TypedValue(Constant(value=True), types.BOOLEAN)
        return TypedValue(Not(IsNull(exists.value)), types.BOOLEAN)

    def _case(self, node: Case) -> TypedValue:
        conditions = [self.condition(condition) for condition, _ in node.branches]
        values = [self.value(value) for _, value in node.branches]
        common = values[0]
        for (_, value), typed in zip(node.branches, values, strict=True):
            common, _ = common_type(
                self._option, value, Operand(node, common), Operand(value, typed)
            )
            if common.type is types.NULL:
                common = typed
        values = [as_type(each, common.type) for each in values]
        if types.RECORD in [each.type for each in values]:
            raise self._option.unsupported(node, "The function case with records as its values")
        is_total = any(each.value == Constant(value=True) for each in conditions)
        nullable = not is_total or any(each.nullable for each in values)
        choice = Choice(
            tuple([each.value for each in conditions]), tuple([each.value for each in values])
        )
        most = max(each.most for each in values)
        return TypedValue(choice, common.type, nullable, most)

    def _lambda(self, node: Lambda) -> TypedValue:
        records = self._paths.records(node.path)
        if self._nested == MOST_NESTED:
            raise self._option.unsupported(
                node, f"The operator {node.operator} within more than {MOST_NESTED} others"
            )
        if node.predicate is None or node.variable is None:
            return TypedValue(Exists(records.steps, None), types.BOOLEAN)
        variables = self._paths.variables
        number = records.steps[-1].number
        inner = PathRecords(records.entity_set, number)
        self._paths.variables = {**variables, node.variable: inner}
        self._nested += 1
        condition = self.condition(node.predicate)
        self._nested -= 1
        self._paths.variables = variables
        if node.operator == "any":
            return TypedValue(Exists(records.steps, condition.value), types.BOOLEAN)
        failing: Value = Not(condition.value)
        if condition.nullable:
            failing = Comparison("ne", condition.value, Constant(value=True), nullable=True)
        return TypedValue(Not(Exists(records.steps, failing)), types.BOOLEAN)
