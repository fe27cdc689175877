"""Writes catalogs in TOML: that of a CSDL document, whose losses are comments and a report."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from typing import NamedTuple

import msgspec

from comptoir.catalog import MODEL
from comptoir.catalog.csdl import Document, Element, json_list, json_object
from comptoir.catalog.importable import Importable, ServedSet, name_fault
from comptoir.errors import operator_rows as problems
from comptoir.errors.refusal import OperatorError
from comptoir.jsonvalue import Json

_CORE, _CAPABILITIES = "Org.OData.Core.V1.", "Org.OData.Capabilities.V1."
_LABEL = "com.sap.vocabularies.Common.v1.Label"
_WRITES = (("Insert", "Insertable"), ("Update", "Updatable"), ("Delete", "Deletable"))
_STAMP = re.compile(r"(?i:(?:last|system)?(modified|changed?|created|creation)(?:DateTime|At))")
"""The names of times that systems set as the service does."""

_NAVIGATION = "navigation properties"
_BARE = re.compile(r"[\w-]+", re.ASCII)
_TABLES = ("sets", "enums", "properties", "navigation", "actions", "business_central")
"""The tables that are written with a header of their own, and not within a line."""

_ENCODED = re.compile(r"_x([0-9A-Fa-f]{4})_")


def toml_of(content: Mapping[str, object]) -> str:
    """The text of a catalog, whose content is that of a file."""
    return "\n".join([*_lines("", content), ""]).lstrip("\n")


def _lines(path: str, table: Mapping[str, object]) -> Iterator[str]:
    headed = {
        name: value
        for name, value in table.items()
        if isinstance(value, Mapping) and (path == "sets" or name in _TABLES)
    }
    if path not in ("", "sets"):
        yield from ("", f"[{path}]")
    for name, value in table.items():
        if name not in headed:
            yield _toml_line(name, value)
    for name, value in headed.items():
        yield from _lines(f"{path}.{_key(name)}".removeprefix("."), value)


def _toml_line(name: str, value: object) -> str:
    """A line with a key and its value."""
    return f"{_key(name)} = {_toml(value)}"


def _key(name: str) -> str:
    """A name as a key."""
    return name if _BARE.fullmatch(name) else _toml(name)


def _toml(value: object) -> str:
    """A value, whose texts and numbers are those of JSON."""
    if isinstance(value, Mapping):
        inner = ", ".join(_toml_line(str(name), each) for name, each in value.items())
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    return msgspec.json.encode(value).decode()


class Imported(NamedTuple):
    """A catalog in TOML, and the report: the totals, and a line for each loss."""

    text: str
    report: Sequence[str]


def import_catalog(document: Document, only: Sequence[str]) -> Imported:
    """The catalog of a document, or of some of its sets.

    Raises `OperatorError` if the document does not have one of these.
    """
    return _Writer(document, only).written()


class _Writer:
    """Writes the lines of a catalog, and counts what it has."""

    def __init__(self, document: Document, only: Sequence[str]) -> None:
        self._document, self._is_whole = document, not only
        self._found = Importable(document, only)
        self._lines: list[str] = []
        self._losses: list[tuple[int, str]] = []
        self._served, self._all = Counter[str](), Counter[str]()

    def written(self) -> Imported:
        """The text of the catalog, and the report."""
        found, name = self._found, self._document.name
        self._lines += [
            "",
            _toml_line("comptoir", 1),
            _toml_line("namespace", found.namespace),
            _toml_line("container", self._document.container.name),
            "",
        ]
        if found.companies is not None and self._is_whole:
            self._check_companies(found.companies)
        actions = self._actions()
        for each in found.chosen:
            self._lines.append("")
            if each.name in found.sets:
                self._write_set(each.name, found.sets[each.name], actions.get(each.name, []))
            else:
                self._lose(each.line, found.refused[each.name])
                kinds = Counter(
                    one.kind == "Property" for one in found.members(found.type_of(each))
                )
                self._all.update({"properties": kinds[True], _NAVIGATION: kinds[False]})
            self._count("sets", is_served=each.name in found.sets)
        self._write_enums()
        if self._is_whole:
            self._check_others()
        totals = ", ".join(
            f"{self._served[each]} of {self._all[each]} {each}"
            for each in ("sets", "properties", _NAVIGATION)
        )
        totals += f", {self._served['actions']} actions (none with an effect)."
        counts = (problems.NULLABLE, "nullable"), (problems.UNLIMITED, "unlimited")
        general = [row(count=self._served[each]) for row, each in counts if self._served[each]]
        head = [f"# From {name}: {totals}", *[f"# {each}" for each in general]]
        losses = [*self._losses, *[(0, str(each)) for each in general]]
        report = [(0, totals), *sorted(losses, key=itemgetter(0))]
        return Imported(
            "\n".join(map(_printable, [*head, *self._lines, ""])),
            [_printable(f"{name}:{f'{line}:' if line else ''} {text}") for line, text in report],
        )

    def _lose(self, line: int, error: OperatorError | None) -> None:
        """Report a loss, if there is one, and write it as a comment."""
        if error is not None:
            self._losses.append((line, str(error)))
            self._lines.append(f"# {error}")

    def _count(self, what: str, *, is_served: bool) -> None:
        self._all[what] += 1
        self._served[what] += is_served

    def _check_companies(self, element: Element) -> None:
        """Report what the set of companies has in the document, and not in the service."""
        found, own = self._found, MODEL.companies
        full = found.type_of(element)
        for each in found.members(full):
            is_served = each.name in own.type.by_name or each.name in found.sets
            if each.kind == "Property":
                self._count("properties", is_served=is_served)
            if not is_served and each.name not in found.refused:
                self._lose(each.line, problems.OF_COMPANIES(name=f"{own.name}/{each.name}"))
        self._count("sets", is_served=True)
        if full != f"{found.namespace}.{own.type.name}":
            self._lose(element.line, problems.OF_COMPANIES(name=full))

    def _check_others(self) -> None:
        """Report what of the document is in no set."""
        for each in self._document.container.of("Singleton"):
            self._lose(each.line, problems.NOT_SERVED(name=each.name, what="a singleton"))
        for full, each in self._document.types.items():
            base = self._document.full(each.attributes.get("BaseType", ""))
            if base in self._found.set_of and full not in self._found.set_of:
                self._lose(each.line, problems.NOT_SERVED(name=full, what="a derived type"))

    def _actions(self) -> Mapping[str, list[Element]]:
        """The actions of each set; reports the other operations."""
        actions: dict[str, list[Element]] = {}
        for each in self._document.operations:
            parameter = next(each.of("Parameter"), None) if each.has("IsBound") else None
            full, is_many = self._found.target(parameter) if parameter else ("", False)
            set_name = self._found.set_of.get(full)
            if each.kind == "Action" and set_name is not None and not is_many:
                actions.setdefault(set_name, []).append(each)
            elif self._is_whole or set_name is not None:
                what = "a function" if each.kind == "Function" else "an action that no record has"
                name = f"{full}/{each.name}" if full else each.name
                self._lose(each.line, problems.NOT_SERVED(name=name, what=what))
        return actions

    def _write_enums(self) -> None:
        self._lines += ["", "[enums]"] if self._found.enums else []
        for name, each in self._found.enums.items():
            members = list(each.of("Member"))
            values = enumerate(one.attributes.get("Value") for one in members)
            if any(value not in (None, str(number)) for number, value in values):
                self._lose(each.line, problems.RENUMBERED(name=name))
            self._lines.append(_toml_line(name, [_member(one.name) for one in members]))

    def _write_set(self, name: str, served: ServedSet, actions: Sequence[Element]) -> None:
        terms = {**served.element.terms, **served.type.terms}
        for mark, what in (("OpenType", "an open type"), ("HasStream", "a type with media")):
            if served.type.has(mark):
                self._lose(served.type.line, problems.NOT_SERVED(name=served.type.name, what=what))
        path = f"sets.{_key(name)}"
        self._lines += [f"[{path}]", _toml_line("type", served.type.name)]
        unique = [_alternatekey(served, names) for names in served.unique]
        options = {
            **_texts(terms),
            "key": served.key if served.key != "id" else "",
            "unique": unique,
            "read_only": all(_is_refused(terms, *each) for each in _WRITES),
        }
        self._lines += [_toml_line(option, value) for option, value in options.items() if value]
        what = "an alternate key of other types than Guid, Int32, texts and enumerations"
        for lost in served.lost:
            called = f"{served.type.name}({','.join(lost)})"
            self._lose(served.type.line, problems.NOT_SERVED(name=called, what=what))
        self._lines += ["", f"[{path}.properties]"]
        required = json_object(terms.get(f"{_CAPABILITIES}InsertRestrictions"))
        self._write_properties(served, json_list(required.get("RequiredProperties")))
        links = served.of("NavigationProperty")
        self._lines += ["", f"[{path}.navigation]"] if links else []
        for each, _, fault in links:
            self._write_navigation(served, each, fault)
        self._lines += ["", f"[{path}.actions]"] if actions else []
        names = {each.element.name.lower(): each.element.name for each in served.members}
        for each in actions:
            fault = name_fault(each.name, names)
            self._lose(each.line, fault)
            self._lines += [_toml_line(each.name, {})] if fault is None else []
            self._count("actions", is_served=fault is None)

    def _write_properties(self, served: ServedSet, required: Sequence[Json]) -> None:
        stamps: list[str] = []
        for each, edm_type, loss in served.of("Property"):
            self._lose(each.line, loss)
            self._count("properties", is_served=bool(edm_type))
            if not edm_type:
                continue
            self._served["nullable"] += each.attributes.get("Nullable") != "false"
            is_limited = loss is not None or "MaxLength" in each.attributes
            self._served["unlimited"] += edm_type == "String" and not is_limited
            options: dict[str, object] = {"type": edm_type}
            stamp = _STAMP.fullmatch(each.name)
            option = "created_at" if stamp and stamp[1][:3].lower() == "cre" else "modified_at"
            if stamp and edm_type == "DateTimeOffset" and option not in stamps:
                stamps.append(option)
                options[option] = True
            elif each.name != served.key:
                options |= _restrictions(each)
            options["required"] = each.name in required and not options.get("computed")
            options |= _texts(each.terms)
            options = {option: value for option, value in options.items() if value}
            self._lines.append(_toml_line(each.name, options if len(options) > 1 else edm_type))

    def _write_navigation(
        self, served: ServedSet, element: Element, fault: OperatorError | None
    ) -> None:
        name = f"{served.type.name}/{element.name}"
        full, is_many = self._found.target(element)
        target = self._target_set(served, element, full)
        pair = self._found.pair(served, element, target) if target else None
        is_named = fault is None
        if fault is None and not target:
            fault = problems.NO_TARGET(name=name, type=full)
        if fault is None and pair is None:
            is_free = not any(element.of("ReferentialConstraint"))
            fault = (problems.NO_CONSTRAINT if is_free else problems.NO_PAIR)(name=name)
        self._count(_NAVIGATION, is_served=fault is None)
        options = {
            "to": f"{target}[]" if is_many else target,
            "on": dict([pair] if pair else []),
            "contained": is_many and element.has("ContainsTarget"),
            "description": element.terms.get(f"{_CORE}Description", ""),
        }
        line = _toml_line(element.name, {n: each for n, each in options.items() if each})
        self._lose(element.line, fault)
        if target:
            self._lines.append(line if is_named else f"# {line}")

    def _target_set(self, served: ServedSet, element: Element, full: str) -> str:
        """The served set that a navigation property leads to, blank if there is none."""
        bound = [
            each.attributes.get("Target", "").rpartition("/")[2]
            for each in served.element.of("NavigationPropertyBinding")
            if each.attributes.get("Path") == element.name
        ]
        name = bound[0] if bound else self._found.set_of.get(full, "")
        return name if name in self._found.sets else ""


def _texts(terms: Mapping[str, Json]) -> dict[str, object]:
    """The caption and the description of an element."""
    found = {"caption": terms.get(_LABEL), "description": terms.get(f"{_CORE}Description")}
    return {name: text for name, text in found.items() if isinstance(text, str)}


def _restrictions(element: Element) -> dict[str, object]:
    """Who sets a property: by the terms of the standard, and by those of Business Central."""
    terms = {name.rpartition(".")[2]: value for name, value in element.terms.items()}
    is_fixed = terms.get("AllowEdit") is False
    computed = terms.get("Computed") is True or (
        is_fixed and terms.get("AllowEditOnCreate") is not True
    )
    return {
        "computed": computed,
        "immutable": not computed and (is_fixed or terms.get("Immutable") is True),
    }


def _is_refused(terms: Mapping[str, Json], verb: str, option: str) -> bool:
    return json_object(terms.get(f"{_CAPABILITIES}{verb}Restrictions")).get(option) is False


def _alternatekey(served: ServedSet, names: Sequence[str]) -> object:
    """An alternate key; several records may have none if it is a text."""
    is_text = len(names) == 1 and served.types[names[0]].startswith("String")
    return {"properties": names, "blank_is_free": True} if is_text else names


def _member(name: str) -> object:
    """A member of an enumeration, with its caption if its name has encoded characters."""
    caption = _ENCODED.sub(lambda match: chr(int(match[1], 16)), name)
    return (name, caption) if caption.isprintable() and caption != name else name


def _printable(line: str) -> str:
    """A line without characters that end it, or that a terminal obeys."""
    return line if line.isprintable() else "".join(c if c.isprintable() else " " for c in line)
