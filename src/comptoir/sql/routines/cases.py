"""Python's rules of case as statements of PL/pgSQL, for what is not ASCII.

Databases change the case of texts by other rules than Python, and by other versions of Unicode. So
the rules are asked of the Python that runs, and put into the statements.
"""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache

from comptoir.sql.routines.quoting import quoted

_CHUNK = 60
"""How many characters are mapped by one `translate`, which looks through all of them."""

_GAP = 256
"""How far neighbours in a chunk are from one another at most, so that few texts are near it."""

Runs = Sequence[tuple[int, int]]
"""Characters by their code points, first and last of each run."""


def case_steps(change: Callable[[str], str]) -> str:
    """The statements that change the case of the variable `made`, whose ASCII has been changed.

    `change` gives for a character what becomes of it, wherever it stands.
    """
    changed = {
        code: change(chr(code)) for code in _beyond_ascii() if change(chr(code)) != chr(code)
    }
    single = {code: made for code, made in changed.items() if len(made) == 1}
    several = {code: made for code, made in changed.items() if len(made) > 1}
    lines = [
        f"    IF made !~ {_class(sorted(changed))} THEN",
        "        RETURN made;",
        "    END IF;",
    ]
    for codes in _chunks(single):
        lines += _guarded(codes, [_translated(codes, single)])
    for codes in _chunks(several):
        lines += _guarded(codes, [_replaced(code, several[code]) for code in codes])
    return "\n".join(lines)


@cache
def cased() -> str:
    """The characters, as within a class, that make a Σ behind or before them not stand alone."""
    return "".join(_run(*run) for run in _runs([code for code in _all() if _is_cased(code)]))


@cache
def ignorable() -> str:
    """The characters, as within a class, that are passed over to find a cased one."""
    codes = [code for code in _all() if _is_passed(code) and not _is_cased(code)]
    return "".join(_run(*run) for run in _runs(codes))


def _is_cased(code: int) -> bool:
    # a Σ is written as a final one behind a cased character
    return f"{chr(code)}Σ".lower()[-1] == "ς"


def _is_passed(code: int) -> bool:
    return f"A{chr(code)}Σ".lower()[-1] == "ς"


def _all() -> Iterator[int]:
    yield from range(1, 0x80)
    yield from _beyond_ascii()


def _beyond_ascii() -> Iterator[int]:
    yield from range(0x80, 0xD800)
    yield from range(0xE000, sys.maxunicode + 1)


def _chunks(mapped: Mapping[int, str]) -> Iterator[list[int]]:
    chunk: list[int] = []
    for code in sorted(mapped):
        if chunk and (len(chunk) == _CHUNK or code - chunk[-1] > _GAP):
            yield chunk
            chunk = []
        chunk.append(code)
    if chunk:
        yield chunk


def _guarded(codes: Sequence[int], steps: Sequence[str]) -> list[str]:
    inner = [f"        made := {step};" for step in steps]
    return [f"    IF made ~ {_class(codes)} THEN", *inner, "    END IF;"]


def _translated(codes: Sequence[int], mapped: Mapping[int, str]) -> str:
    given = "".join(map(chr, codes))
    made = "".join([mapped[code] for code in codes])
    return f"translate(made, {quoted(given)}, {quoted(made)})"


def _replaced(code: int, made: str) -> str:
    return f"replace(made, {quoted(chr(code))}, {quoted(made)})"


def _class(codes: Sequence[int]) -> str:
    return quoted(f"[{''.join(_run(*run) for run in _runs(codes))}]")


def _runs(codes: Sequence[int]) -> list[tuple[int, int]]:
    runs: list[tuple[int, int]] = []
    for code in codes:
        if runs and runs[-1][1] == code - 1:
            runs[-1] = (runs[-1][0], code)
        else:
            runs.append((code, code))
    return runs


def _run(first: int, last: int) -> str:
    if last - first < 2:
        return "".join(map(chr, range(first, last + 1)))
    return f"{chr(first)}-{chr(last)}"
