"""Every refusal and error is a row: what the code raises has exactly the facts of its row.

A module imports the rows of errors for operators, and for clients of the token endpoint, as
`problems`.
"""

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from inspect import signature
from pathlib import Path
from string import Formatter

import comptoir
from comptoir.errors import refusal_rows
from comptoir.errors.oauth_rows import OAuthRow
from comptoir.errors.operator_rows import OperatorRow
from comptoir.errors.refusal import RefusalRow
from comptoir.features.business_central import CURRENT
from comptoir.features.business_central.profile import business_central
from comptoir.profiles.record import STANDARD
from house.rules import UNPLAIN, Source, sources

SOURCES = Path(comptoir.__file__).parent
PROFILES = (STANDARD, business_central(CURRENT))
OPTIONS = {"error", "details", "headers", "known"}
"""The arguments of a row that are not facts."""

ADDED = {"position", "text", "place", "values"}
"""Facts that may be added where a refusal is passed on, as by a method `refuse`."""

REFUSING: Mapping[str, set[str]] = {
    "": set(),
    "refuse": set(),
    "misplaced": {"expected", "after", "found"},
    "refuse_part": set(),
    "invalid_token": set(),
    "_beyond": {"seconds", "plural"},
    "EdmError": {"name", "field", "table"},
}
"""What is called with a row, and the facts that it adds or that are added later; a row has none."""

FEATURE_MODULES = [
    import_module(f"comptoir.features.{path.parent.name}.errors")
    for path in sorted(SOURCES.glob("features/*/errors.py"))
]

ROWS = {
    f"{module.__name__.rpartition('.')[2]}.{name}": row
    for module in (refusal_rows, *FEATURE_MODULES)
    for name, row in vars(module).items()
    if isinstance(row, RefusalRow)
}


def test_no_row_replaces_another_one_of_its_name() -> None:
    tree = ast.parse(Path(refusal_rows.__file__).read_text("utf-8"))
    assigned = [each.targets[0] for each in tree.body if isinstance(each, ast.Assign)]
    names = [each.id for each in assigned if isinstance(each, ast.Name)]
    assert [each for each, number in Counter(names).items() if number > 1] == []


def facts_in(template: str) -> set[str]:
    fields = [field for _, field, _, _ in Formatter().parse(template)]
    return {field.partition(".")[0] for field in fields if field}


def facts_of(row: RefusalRow) -> set[str]:
    """The facts of a row, and of the responses that profiles have in its place."""
    templates = [row.problem, row.remedy, *row.headers.values()]
    for profile in PROFILES:
        if row.group in profile.errors:
            templates.append(profile.errors[row.group].message)
    return set().union(*map(facts_in, templates))


def rows_in(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """The names of the rows in a part of a module, with those of their modules."""
    for each in nodes:
        if isinstance(each, ast.Attribute) and isinstance(each.value, ast.Name):
            name = f"{each.value.id}.{each.attr}"
            if name in ROWS:
                yield name


class OwnNames(ast.NodeTransformer):
    """Names the rows of a module by the module's own name, where it is imported and in itself."""

    def __init__(self, module: str) -> None:
        self._module = module
        self._names: dict[str, str] = {}

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.ImportFrom:
        self._names |= {each.asname: each.name for each in node.names if each.asname}
        return node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if isinstance(node.ctx, ast.Load) and f"{self._module}.{node.id}" in ROWS:
            module = ast.copy_location(ast.Name(self._module, node.ctx), node)
            return ast.copy_location(ast.Attribute(module, node.id, node.ctx), node)
        node.id = self._names.get(node.id, node.id)
        return node


@cache
def modules() -> Sequence[tuple[str, Sequence[ast.AST]]]:
    """The nodes of each module, by its path."""
    return [
        (
            str(path.relative_to(SOURCES)),
            [*ast.walk(OwnNames(path.stem).visit(ast.parse(path.read_text(encoding="utf-8"))))],
        )
        for path in sorted(SOURCES.rglob("*.py"))
    ]


def calls(module: Sequence[ast.AST]) -> Iterator[tuple[ast.Call, str, Sequence[str]]]:
    """The calls of a row or with one, what is called with it, and the names of the row."""
    for function in module:
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        nodes = [*ast.walk(function)]
        assigned: dict[str, list[str]] = {}
        for node in nodes:
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                assigned.setdefault(node.targets[0].id, []).extend(rows_in(ast.walk(node.value)))
        for node in nodes:
            if isinstance(node, ast.Call):
                of_helper = _name(node.func) if node.args and _name(node.func) in REFUSING else ""
                row = node.args[0] if of_helper else node.func
                names = (
                    assigned.get(row.id, [])
                    if isinstance(row, ast.Name)
                    else [*rows_in(ast.walk(row))]
                )
                if names and not any(isinstance(each, ast.Call) for each in ast.walk(row)):
                    yield node, of_helper, names


def _name(function: ast.expr) -> str:
    return getattr(function, "id", "") or getattr(function, "attr", "")


def test_a_refusal_has_the_facts_of_its_row() -> None:
    for path, module in modules():
        for call, of_helper, names in calls(module):
            given = {each.arg for each in call.keywords} - OPTIONS
            if "known" in {each.arg for each in call.keywords}:
                given.discard("name")
            wanted = set().union(*[facts_of(ROWS[name]) for name in names])
            added = {"name", *ADDED, *REFUSING[of_helper]}
            assert wanted - added <= given, f"{path}:{call.lineno}: the facts of {names}"
            assert given <= wanted, f"{path}:{call.lineno}: the facts of {names}"


def test_each_row_is_raised() -> None:
    raised = {
        name
        for path, nodes in modules()
        if path != "profiles/business_central/errors.py"
        for name in rows_in(nodes)
    }
    assert ROWS.keys() - raised == set()


def test_only_a_row_makes_refusals() -> None:
    made = [
        f"{path}:{node.lineno}"
        for path, nodes in modules()
        for node in nodes
        if path != "errors/refusal.py"
        and isinstance(node, ast.Call)
        and _name(node.func) == "Refusal"
    ]
    assert made == []


def test_a_group_has_another_response_in_a_profile() -> None:
    grouped = {
        node.args[0].value
        for _, nodes in modules()
        for node in nodes
        if isinstance(node, ast.Call) and _name(node.func) == "grouped"
        if isinstance(node.args[0], ast.Constant)
    }
    groups = {row.group for row in ROWS.values()} | grouped - {""}
    others = {root for profile in PROFILES for root in profile.routes.apis.values()}
    known = {group for profile in PROFILES for group in profile.errors}
    assert (groups | others) - {""} == known


def test_a_row_is_short_enough_to_be_read() -> None:
    folders = ("errors/table.py", "errors/*_rows.py", "features/*/errors.py")
    paths = [path for each in folders for path in SOURCES.glob(each)]
    lines = [line for path in paths for line in path.read_text().splitlines()]
    assert max(map(len, lines)) <= 140


def test_a_row_has_the_form_of_a_message() -> None:
    for name, row in ROWS.items():
        assert not UNPLAIN.search(f"{row.problem}. {row.remedy}"), name
        assert not row.problem.endswith("."), name
        assert row.remedy.endswith((".", "?", "}")), name


MADE_FROM_ROWS = {"OAuthRefusal", "OperatorError", "UnreachableError"}

Row = OAuthRow | OperatorRow


@cache
def all_rows() -> Mapping[str, Mapping[str, Row]]:
    """The rows of each module that has some."""
    found = {}
    for source in sources():
        if source.name.endswith(("rows", "errors")):
            named = vars(import_module(source.name))
            found[source.name] = {name: row for name, row in named.items() if isinstance(row, Row)}
    return {name: rows for name, rows in found.items() if rows}


def _imported(tree: ast.Module) -> str | None:
    """The module that a module imports as `problems`."""
    for each in tree.body:
        if isinstance(each, ast.ImportFrom) and each.names[0].asname == "problems":
            return f"{each.module}.{each.names[0].name}"
    return None


def _uses(source: Source) -> Iterator[ast.Attribute]:
    for each in source.nodes:
        if isinstance(each, ast.Attribute) and getattr(each.value, "id", "") == "problems":
            yield each


def test_each_row_is_used() -> None:
    used = {(_imported(each.tree), use.attr) for each in sources() for use in _uses(each)}
    known = {(module, row) for module, rows in all_rows().items() for row in rows}
    assert known - used == set(), "remove these rows"


def test_each_error_is_made_from_a_row() -> None:
    places = [
        f"{source.name}:{each.lineno}"
        for source in sources()
        if source.name not in all_rows()
        for each in source.nodes
        if isinstance(each, ast.Call) and getattr(each.func, "id", "") in MADE_FROM_ROWS
    ]
    assert not places, "add a row to operator_rows.py or oauth_rows.py, and call it"


def test_each_call_has_the_facts_of_its_row() -> None:
    for source in sources():
        uses = set(_uses(source))
        for each in source.nodes:
            if isinstance(each, ast.Call) and each.func in uses:
                assert isinstance(each.func, ast.Attribute)
                row = all_rows()[str(_imported(source.tree))][each.func.attr]
                named = {str(keyword.arg) for keyword in each.keywords}
                given = named - signature(type(row).__call__).parameters.keys()
                facts = facts_in(row.problem) | facts_in(row.remedy)
                assert given == facts, f"{source.name}:{each.lineno}: {each.func.attr}"


def test_a_fact_is_not_a_template() -> None:
    error = OperatorRow("{path} is damaged: {reason}", "Remove {path}.")(path="{x}", reason="{}")
    assert str(error) == "{x} is damaged: {}. Remove {x}."


def test_a_suggestion_takes_the_place_of_the_remedy() -> None:
    row = OperatorRow("the role {name} does not exist", "Add it.")
    assert str(row(name="x", suggested="Did you mean {y}?")) == (
        "the role x does not exist. Did you mean {y}?"
    )
    assert str(row(name="x", suggested="")) == "the role x does not exist. Add it."
