"""The house rules: each yields its violations in parsed modules, with a remedy.

`test_house` applies them to this repository; `test_rules` checks that each of them can fail.
"""

import ast
import io
import re
import tokenize
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from graphlib import CycleError, TopologicalSorter
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[2]
PACKAGE = "comptoir"
MODULE_LINES = 700
FUNCTION_LINES = 80

# The stations from the ground up; one imports only from rows before its own, or from itself.
ROWS = (
    (PACKAGE,),
    ("errors", "jsonvalue"),
    ("profiles",),
    ("config", "edm", "outgoing"),
    ("catalog", "request", "auth", "metadata"),
    ("feature",),
    ("features",),
    ("plan",),
    ("sql", "response"),
    ("store",),
    ("service",),
    ("http",),
    ("app",),
    ("cli",),
    ("__main__", "features.*"),
)
ROW = {station: number for number, row in enumerate(ROWS) for station in row}

IMPORTS_ONLY = {
    "profiles": {PACKAGE, "errors"},
    "outgoing": {PACKAGE, "errors"},
    "request": {PACKAGE, "errors", "jsonvalue", "config"},
    "metadata": {PACKAGE, "errors", "config", "profiles", "edm"},
}
IMPORTED_ONLY_BY = {
    "catalog": {"app", "cli", "features.*"},
    "jinja2": {"features.*"},
    "sqlalchemy": {"sql", "store", "features.*"},
    "aiohttp": {"outgoing"},
    "pytest": {"features.*"},
}
NAMING_PROFILES = {"profiles", "config", "cli", "catalog", "features", "features.*"}
"""The stations that know the names of profiles; the others receive their parts."""

PROFILE = "business-central"
FOLLOWING = {"plan", "service"}
"""The stations that judge what a client may read."""

_OF_A_WORKPLACE = {
    re.compile(
        r"/simple[/]|index[-]url|extra[-]index|find[-]links|pypi[.]org|pythonhosted[.]org"
    ): "names a package registry: the installer's settings choose it",
    re.compile(
        r"(?<![\w.~$}>:/-])/(?:root/|work/|tmp/\w|home/\w|Users/\w)"
    ): "names a path of one machine: use one within the repository",
}
MARKED = re.compile(r"\b(TODO|FIXME|XXX)\b")
REASONED = re.compile(r"TODO: \S+( \S+){3,}")
CHARACTER_CLASS = re.compile(r"\[\^?\]?(?:\\.|[^\]\\])*\]")
MESSAGE_ARGUMENTS = {
    "OAuthRefusal": (1, 2),
    "OAuthRow": (1, 2),
    "OperatorError": (0, 1),
    "OperatorRow": (0, 1),
    "message": (0, 1),
    "row": (0, 1),
}
"""The positions of `problem` and `remedy` in the arguments of a call."""

UNPLAIN = re.compile(
    r"\bis no \b|(?:^|[:.] )[Tt]here (?:already )?(?:is|are)\b|\b(?:I|[Ww]e|us|[Oo]ur|[Mm]y)\b"
)
ATOMIC_GROUP = re.compile(r"\(\?>|\)(?:[*+?]|\{[\d,]+\})\+")


@dataclass(frozen=True, slots=True)
class Violation:
    """A violation: its path and line, its `place` in an allow-list, and what to do."""

    path: str
    line: int
    place: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.message}"


@dataclass(frozen=True)
class Source:
    """A module: its path within the repository, its dotted name and its text."""

    path: str
    text: str

    @property
    def parts(self) -> tuple[str, ...]:
        parts = PurePosixPath(self.path).with_suffix("").parts
        inner = parts[parts.index("src") + 1 :] if "src" in parts else parts
        return inner[:-1] if inner[-1] == "__init__" else inner

    @property
    def name(self) -> str:
        return ".".join(self.parts)

    @property
    def station(self) -> str:
        return station_of(self.name)

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text, self.path)

    @cached_property
    def nodes(self) -> Sequence[ast.AST]:
        """All nodes of the tree, outer ones first."""
        return list(ast.walk(self.tree))

    @cached_property
    def functions(self) -> Sequence[tuple[str, ast.AST]]:
        """Every function with its qualified name, outer ones first."""
        return list(_functions_of(self.tree))

    @cached_property
    def owners(self) -> Mapping[int, str]:
        """The innermost function that contains a node, by its id."""
        return {id(node): name for name, each in self.functions for node in ast.walk(each)}

    def violation(self, place: int | ast.AST, message: str, function: str = "") -> Violation:
        """A violation, at a line or a node, whose place is the module or a function of it."""
        line = place if isinstance(place, int) else getattr(place, "lineno", 1)
        return Violation(self.path, line, f"{self.name}:{function}".rstrip(":"), message)


@cache
def sources() -> Sequence[Source]:
    """All modules of the package, by their paths, which are parsed once for all rules."""
    paths = sorted((ROOT / "src" / PACKAGE).rglob("*.py"))
    return [Source(path.relative_to(ROOT).as_posix(), path.read_text("utf-8")) for path in paths]


def station_of(module: str) -> str:
    """The station of a module of the package; the package itself is one.

    The list of features and the entry of each, which is its `__init__`, are one station. The rest
    of all features is another.
    """
    parts = module.split(".")
    if len(parts) > 3 and parts[1] == "features":
        return "features.*"
    return parts[1] if len(parts) > 1 else parts[0]


def imports_of(source: Source, modules: frozenset[str]) -> Iterator[tuple[int, str]]:
    """The lines and the full dotted names of a module's imports.

    `modules` distinguishes submodules from names in modules.
    """
    is_package = source.path.endswith("__init__.py")
    for node in source.nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            base = _base_of(node, source.parts, is_package)
            for alias in node.names:
                inner = f"{base}.{alias.name}"
                yield node.lineno, inner if inner in modules else base


def _base_of(node: ast.ImportFrom, parts: Sequence[str], is_package: bool) -> str:
    if not node.level:
        return node.module or ""
    up = node.level - 1 if is_package else node.level
    return ".".join([*parts[: len(parts) - up], *([node.module] if node.module else [])])


def _modules(sources: Sequence[Source]) -> frozenset[str]:
    stations = frozenset(f"{PACKAGE}.{station}" for station in ROW)
    return stations | frozenset(source.name for source in sources)


def unknown_stations(sources: Sequence[Source]) -> Iterator[Violation]:
    """Every module belongs to a station in the table."""
    for source in sources:
        if source.station not in ROW:
            yield source.violation(
                1,
                f"'{source.station}' is no station of the house: move the module into one, or add "
                "the station to ROWS in tests/house/rules.py and to the architecture page",
            )


def wrong_directions(sources: Sequence[Source]) -> Iterator[Violation]:
    """A station imports only stations below it that it may import."""
    modules = _modules(sources)
    for source in sources:
        for line, target in imports_of(source, modules):
            reason = _refusal(source.station, target)
            if reason:
                yield source.violation(line, reason)


def _refusal(station: str, target: str) -> str | None:
    root = target.split(".", maxsplit=1)[0]
    other = station_of(target) if root == PACKAGE else root
    if other == station:
        return None
    users = IMPORTED_ONLY_BY.get(other)
    if users and station not in users:
        names = " and ".join(sorted(users))
        return f"only {names} may import {other}, not {station}: take what it gives as an argument"
    if root != PACKAGE or station not in ROW:
        return None
    known = IMPORTS_ONLY.get(station)
    if known is not None and other not in known:
        return f"{station} knows only {', '.join(sorted(known))}, not {other}: move the code up"
    if ROW.get(other, len(ROWS)) >= ROW[station]:
        return (
            f"{station} imports {target}, which is not below it: hand it in as an argument, or "
            "move what both need further down"
        )
    return None


def cycles(sources: Sequence[Source]) -> Iterator[Violation]:
    """No module imports itself through others."""
    modules = _modules(sources)
    graph = {
        source.name: {target for _, target in imports_of(source, modules)} - {source.name}
        for source in sources
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        names: list[str] = error.args[1]
        path = next(source.path for source in sources if source.name in names)
        around = " <- ".join(names)
        yield Violation(
            path, 1, names[0], f"import cycle {around}: move what both need into a module below"
        )


def _functions_of(tree: ast.AST, prefix: str = "") -> Iterator[tuple[str, ast.AST]]:
    for node in ast.iter_child_nodes(tree):
        # an expression contains none
        if isinstance(node, ast.expr):
            continue
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield prefix + node.name, node
        inner = prefix
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            inner = f"{prefix}{node.name}."
        yield from _functions_of(node, inner)


def followed_relations(source: Source) -> Iterator[Violation]:
    """The set that a navigation property leads to is found only where its rights are judged."""
    if source.station not in FOLLOWING:
        return
    for name, function in source.functions:
        for node in ast.walk(function):
            if (
                isinstance(node, ast.Subscript)
                and _last_name(node.value) == "by_name"
                and isinstance(node.slice, ast.Attribute)
                and node.slice.attr == "target"
            ):
                yield source.violation(
                    node,
                    f"{name} follows a navigation property: judge the right to read its set by "
                    "plan.rights, and add the place with its reason to FOLLOWED in test_house.py",
                    name,
                )


def profile_names(source: Source) -> Iterator[Violation]:
    """Stations act by the parts of a profile, not by its name."""
    if source.station in NAMING_PROFILES:
        return
    for node in source.nodes:
        is_name = isinstance(node, ast.Attribute) and node.attr == "profile"
        is_text = isinstance(node, ast.Constant) and PROFILE in str(node.value)
        if is_name or is_text:
            yield source.violation(
                node,
                "asks for a profile's name: add what differs to the record in profiles/record.py, "
                "and act by that part of settings.behaviour",
            )


def long_modules(source: Source) -> Iterator[Violation]:
    """A module has a limit of lines."""
    lines = len(source.text.splitlines())
    if lines > MODULE_LINES:
        yield source.violation(
            MODULE_LINES + 1,
            f"{lines} lines, the cap is {MODULE_LINES}: split the module by its nouns",
        )


def long_functions(source: Source) -> Iterator[Violation]:
    """A function has a limit of lines, without its decorators."""
    for name, node in source.functions:
        first = getattr(node, "lineno", 1)
        lines = getattr(node, "end_lineno", first) - first + 1
        if lines > FUNCTION_LINES:
            yield source.violation(
                first,
                f"{name} has {lines} lines, the cap is {FUNCTION_LINES}: split it by its steps",
                name,
            )


def blind_excepts(source: Source) -> Iterator[Violation]:
    """Exceptions are named; the few functions that must catch all are listed."""
    for node in source.nodes:
        if _is_blind(node):
            yield source.violation(
                node,
                "catches every exception: name those that are meant, or, at an edge that must "
                "survive all, add the place and its reason to BLIND_EXCEPTS in test_house.py",
                source.owners.get(id(node), "<module>"),
            )


def _is_blind(node: ast.AST) -> bool:
    if isinstance(node, ast.ExceptHandler):
        if node.type is None:
            return True
        caught = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
    elif isinstance(node, ast.Call) and _last_name(node.func) == "suppress":
        caught = node.args
    else:
        return False
    return any(_last_name(item) in {"Exception", "BaseException"} for item in caught)


def _last_name(node: ast.AST) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def bare_todos(source: Source) -> Iterator[Violation]:
    """A TODO says what is missing and why it can wait."""
    if not MARKED.search(source.text):
        return
    for token in tokenize.generate_tokens(io.StringIO(source.text).readline):
        marked = token.type == tokenize.COMMENT and MARKED.search(token.string)
        if marked and not REASONED.search(token.string):
            yield source.violation(
                token.start[0],
                "a TODO without a reason: write '# TODO: what is missing, and why it can wait'",
            )


def atomic_groups(source: Source) -> Iterator[Violation]:
    """No pattern has an atomic group, which `re` before Python 3.11.5 may match incorrectly."""
    for node in source.nodes:
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str | bytes):
            continue
        text = node.value if isinstance(node.value, str) else node.value.decode("latin-1")
        if ATOMIC_GROUP.search(CHARACTER_CLASS.sub("[]", text)):
            yield source.violation(
                node,
                "an atomic group or a possessive quantifier of a group, which Python 3.11.0 to "
                "3.11.4 mishandle (gh-106052): write the pattern without it",
            )


def message_forms(source: Source) -> Iterator[Violation]:
    """The literals of a message have the form that `comptoir.errors.messages` describes."""
    for is_remedy, node in _message_parts(source.nodes):
        texts = [node] if isinstance(node, ast.Constant) else getattr(node, "values", [])
        words = [each.value for each in texts if isinstance(each, ast.Constant)]
        written = "".join(word for word in words if isinstance(word, str))
        last = texts[-1] if texts else None
        end = last.value if isinstance(last, ast.Constant) else None
        error = ""
        if UNPLAIN.search(written):
            error = (
                "a message with the first person, 'is no' or 'there is': begin with its subject, "
                "write 'is not' or 'does not exist'"
            )
        elif is_remedy and isinstance(end, str) and not end.endswith((".", "?", "!", "}")):
            error = "a remedy is one or more whole sentences: end it with a full stop"
        elif not is_remedy and isinstance(end, str) and end.endswith("."):
            error = "a problem has no full stop, since its column may follow: remove it"
        if error:
            yield source.violation(node, error)


def _message_parts(nodes: Iterable[ast.AST]) -> Iterator[tuple[bool, ast.expr]]:
    """The problems (False) and remedies (True) that are arguments, or variables of these names."""
    for node in nodes:
        parts: list[tuple[bool, ast.expr]] = []
        if isinstance(node, ast.Assign):
            names = [each.id for each in node.targets if isinstance(each, ast.Name)]
            parts = [(name == "remedy", node.value) for name in names if name in _PARTS]
        elif isinstance(node, ast.Call):
            named = [each for each in node.keywords if each.arg in _PARTS]
            parts = [(each.arg == "remedy", each.value) for each in named]
            positions = MESSAGE_ARGUMENTS.get(_last_name(node.func), ())
            for is_remedy, position in enumerate(positions):
                if position < len(node.args):
                    parts.append((bool(is_remedy), node.args[position]))
        for is_remedy, part in parts:
            branches = [part.body, part.orelse] if isinstance(part, ast.IfExp) else [part]
            yield from [(is_remedy, branch) for branch in branches]


_PARTS = ("problem", "remedy")


def workplace_names(path: str, text: str) -> Iterator[Violation]:
    """No file names a package registry or a path of a particular machine."""
    for number, line in enumerate(text.splitlines(), 1):
        for forbidden, message in _OF_A_WORKPLACE.items():
            if forbidden.search(line):
                yield Violation(path, number, path, message)


def test_packages(paths: Sequence[str]) -> Iterator[Violation]:
    """Test folders are not packages: `tests/http` would hide the standard library's `http`."""
    for path in paths:
        parts = PurePosixPath(path).parts
        if parts[0] == "tests" and parts[-1] == "__init__.py" and parts[1] != "support":
            yield Violation(
                path, 1, path, "makes a test folder a package: remove it, helpers go to support/"
            )
