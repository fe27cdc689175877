"""The syntax of a request's path and query, parsed once."""

from collections.abc import Sequence

import msgspec

from comptoir.errors.refusal import Refusal
from comptoir.request.aliases import parse_aliases, resolve_key
from comptoir.request.expression.parser import ExpressionLimits
from comptoir.request.options import NO_OPTIONS, OptionParser, QueryOptions
from comptoir.request.path import Segment, parse_path


class Parsed(msgspec.Struct, frozen=True):
    """The segments of a path, and the query options or, if they are invalid, their refusal.

    Errors of the company, the resource and the method take precedence over that refusal.
    """

    segments: Sequence[Segment]
    options: QueryOptions | Refusal


def parse(parser: OptionParser, limits: ExpressionLimits, path: str, query: str) -> Parsed:
    """Check a path, then a query; parameter aliases in keys are replaced by their values.

    Raises `Refusal` for an invalid path, and for invalid options that it refers to.
    """
    segments: Sequence[Segment] = parse_path(path)
    options: QueryOptions | Refusal = NO_OPTIONS
    if query:
        try:
            options = parser.parse(query)
        except Refusal as refusal:
            options = refusal
    if "@" in path or "%40" in path:
        if isinstance(options, Refusal):
            raise options
        aliases = parse_aliases(options.aliases, limits)
        segments = [
            msgspec.structs.replace(each, key=each.key and resolve_key(each.key, aliases))
            for each in segments
        ]
    return Parsed(segments, options)
