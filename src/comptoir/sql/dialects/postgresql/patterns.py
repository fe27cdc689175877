"""Patterns of `matchesPattern` as PostgreSQL writes them: its Advanced Regular Expressions.

Every character is a code point or a class of code points, so the result does not depend on the
database's locale or on special characters of either syntax. PostgreSQL matches these expressions
without backtracking, since they have no capturing groups and no back references.

With edges (`^`, `$`) inside a repetition, PostgreSQL takes seconds or refuses the expression as too
complex. So edges are moved to the ends: a match that passes `^` has read nothing before it, and a
match that passes `$` reads nothing after it. The matches of a part are split by the edges that they
pass, and each of these ways is an expression without edges.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from comptoir.request.automaton import CACHED_PATTERNS
from comptoir.request.pattern import (
    Alternatives,
    Characters,
    Edge,
    Part,
    Repeated,
    parse_pattern,
)

_NEVER = "(?!)"
"""An expression that matches no text."""

_SIGNS = {(0, None): "*", (1, None): "+", (0, 1): "?", (1, 1): ""}


@dataclass(frozen=True, slots=True)
class _Expression:
    """An expression without edges; `is_one` when a following quantifier applies to all of it."""

    text: str
    may_be_empty: bool
    is_one: bool = False


_EMPTY = _Expression("", may_be_empty=True)


_Maybe = _Expression | None
"""None matches no text."""


@dataclass(frozen=True, slots=True)
class _Ways:
    """The matches of a part that pass no edge, the start, the end, or both edges of the text."""

    inside: _Maybe = None
    start: _Maybe = None
    end: _Maybe = None
    whole: _Maybe = None


@lru_cache(CACHED_PATTERNS)
def as_regex(pattern: str) -> str:
    """The expression that finds the same texts as a pattern; raises `PatternFault`.

    It is ASCII, and means the same under every collation.
    """
    ways = _alternatives(parse_pattern(pattern))
    if _may_be_empty(ways.inside, ways.start, ways.end):
        return ""
    framed = (
        (ways.inside, "", ""),
        (ways.start, "^", ""),
        (ways.end, "", "$"),
        (ways.whole, "^", "$"),
    )
    found = [f"{first}{way.text}{last}" for way, first, last in framed if way is not None]
    return "|".join(found) if found else _NEVER


def _part(part: Part) -> _Ways:
    match part:
        case Characters():
            return _Ways(inside=_characters(part))
        case Edge():
            return _Ways(start=_EMPTY) if part.is_start else _Ways(end=_EMPTY)
        case Alternatives():
            return _alternatives(part)
        case Repeated():
            return _repeated(_part(part.part), part.least, part.most)


def _alternatives(node: Alternatives) -> _Ways:
    ways = [_sequence(each) for each in node.sequences]
    return _Ways(
        _either(*[each.inside for each in ways]),
        _either(*[each.start for each in ways]),
        _either(*[each.end for each in ways]),
        _either(*[each.whole for each in ways]),
    )


def _sequence(parts: Sequence[Part]) -> _Ways:
    ways = _Ways(inside=_EMPTY)
    for part in parts:
        ways = _in_sequence(ways, _part(part))
    return ways


def _in_sequence(one: _Ways, other: _Ways) -> _Ways:
    """The matches of two parts in sequence."""
    skipped = _empty(one.inside, one.start)
    left = _empty(other.inside, other.end)
    nothing = _empty(one.end, one.whole), _empty(other.start, other.whole)
    return _Ways(
        inside=_joined(one.inside, other.inside),
        start=_either(_joined(one.start, other.inside), _joined(skipped, other.start)),
        end=_either(_joined(one.inside, other.end), _joined(one.end, left)),
        whole=_either(
            _joined(one.start, other.end),
            _joined(one.whole, left),
            _joined(skipped, other.whole),
            _joined(*nothing),
        ),
    )


def _repeated(ways: _Ways, least: int, most: int | None) -> _Ways:
    """The matches of `least` to `most` repetitions.

    A repetition that reads nothing counts too, and may pass an edge that was passed before.
    """
    if most == 0:
        return _Ways(inside=_EMPTY)
    further = None if most is None else most - 1
    at_start = 0 if _may_be_empty(ways.inside, ways.start) else max(least - 1, 0)
    at_end = 0 if _may_be_empty(ways.inside, ways.end) else max(least - 1, 0)
    start = _joined(ways.start, _times(ways.inside, at_start, further))
    end = _joined(_times(ways.inside, at_end, further), ways.end)
    fills = _may_be_empty(ways.inside, ways.start, ways.end)
    once = ways.whole if fills or least <= 1 else _empty(ways.whole)
    between = None
    if most != 1:
        beyond = None if most is None else most - 2
        times = _times(ways.inside, 0 if fills else max(least - 2, 0), beyond)
        between = _joined(_joined(ways.start, times), ways.end)
    return _Ways(_times(ways.inside, least, most), start, end, _either(once, between))


def _may_be_empty(*ways: _Maybe) -> bool:
    return any(way is not None and way.may_be_empty for way in ways)


def _empty(*ways: _Maybe) -> _Maybe:
    return _EMPTY if _may_be_empty(*ways) else None


def _joined(one: _Maybe, other: _Maybe) -> _Maybe:
    if one is None or other is None:
        return None
    if not one.text or not other.text:
        return one if one.text else other
    return _Expression(one.text + other.text, one.may_be_empty and other.may_be_empty)


def _either(*ways: _Maybe) -> _Maybe:
    found = list(dict.fromkeys([way for way in ways if way is not None]))
    if len(found) < 2:
        return found[0] if found else None
    text = "|".join([way.text for way in found])
    return _Expression(f"(?:{text})", _may_be_empty(*found), is_one=True)


def _times(way: _Maybe, least: int, most: int | None) -> _Maybe:
    if most == 0 or way is None:
        return None if least else _EMPTY
    if not way.text:
        return _EMPTY
    text = way.text if way.is_one else f"(?:{way.text})"
    sign = _SIGNS.get((least, most))
    if sign is None:
        sign = f"{{{least}}}" if least == most else f"{{{least},{'' if most is None else most}}}"
    return _Expression(text + sign, not least or way.may_be_empty)


def _characters(node: Characters) -> _Maybe:
    # NUL is in no text of PostgreSQL, and not in its expressions
    ranges = [(max(low, 1), high) for low, high in node.ranges if high]
    if not ranges:
        return _Expression(".", may_be_empty=False, is_one=True) if node.excluded else None
    if ranges == [(ranges[0][0], ranges[0][0])] and not node.excluded:
        return _Expression(_written(ranges[0][0]), may_be_empty=False, is_one=True)
    members = [
        _written(low) if low == high else f"{_written(low)}-{_written(high)}"
        for low, high in ranges
    ]
    text = f"[{'^' * node.excluded}{''.join(members)}]"
    return _Expression(text, may_be_empty=False, is_one=True)


def _written(code: int) -> str:
    if chr(code).isascii() and chr(code).isalnum():
        return chr(code)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
