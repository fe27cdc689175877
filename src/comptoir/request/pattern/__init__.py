"""Patterns of `matchesPattern`: a subset of ECMAScript's regular expressions.

What a pattern may have: characters, `.`, classes such as `[a-z]` and `[^0-9]`, the classes of
letters d, D, w, W, s and S behind a backslash, groups, `|`, `* + ? {m} {m,} {m,n}` to 50, and `^`
and `$` for the ends of the text.
"""

from comptoir.request.pattern.automaton import check_pattern, compiled_pattern
from comptoir.request.pattern.parser import parse_pattern
from comptoir.request.pattern.tree import PatternFault

__all__ = ["PatternFault", "check_pattern", "compiled_pattern", "parse_pattern"]
