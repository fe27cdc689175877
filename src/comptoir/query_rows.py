"""The refusals of paths and query options, which do not follow OData or are not supported."""

from dataclasses import replace
from functools import partial

from comptoir.errors import INVALID_URL, NOT_IMPLEMENTED, Check

_syntax = partial(INVALID_URL.row, group="SYNTAX")
"""The factory of the rows of texts that are malformed."""

NOT_SUPPORTED = NOT_IMPLEMENTED.row("{construct} is not supported", "Send the request without it.")
NOT_APPLICABLE = INVALID_URL.row("{option} does not apply to {resource}", "Remove it.")
DEFINITIONS_FILTER = NOT_IMPLEMENTED.row(
    "This filter of entityDefinitions is not supported",
    "Send for example `$filter=entityName eq 'contact'`.",
    group="UNSUPPORTED_FILTER",
)
EXPAND_AGGREGATED = NOT_IMPLEMENTED.row(
    "$expand of an aggregated result is not supported",
    "Group by properties of the related record, as groupby((company/number)).",
)
EXPAND_WRITTEN = NOT_IMPLEMENTED.row(
    "$expand in {action} is not supported", "Read the record with $expand afterwards."
)

# options and parameter aliases
NAMELESS_OPTION = INVALID_URL.row("A query option has no name before its `=`", "{advice}")
UNKNOWN_OPTION = INVALID_URL.row(
    "OData has no query option {name!q}", "Remove it, or give a custom option a name without $."
)
GIVEN_TWICE = INVALID_URL.row("{name} is given twice", "Send it once.")
EMPTY_OPTION = INVALID_URL.row("{option} is empty", "Give it a value, or remove it.")
NOT_UTF_8 = INVALID_URL.row(
    "The percent-encoding of {text!q} in {option} is not UTF-8", "Encode the text as UTF-8."
)
NOT_A_WHOLE_NUMBER = INVALID_URL.row(
    "Invalid value {value!q} for {option}", "Send a non-negative integer."
)
NOT_A_BOOLEAN = INVALID_URL.row("Invalid value {value!q} for {option}", "Send true or false.")
OTHER_SCHEMA_VERSION = INVALID_URL.row(
    "Invalid value {value!q} for {option}", "Send {versions}, or remove it."
)
LEVELS_OUTSIDE = INVALID_URL.row(
    "{option} applies only within $expand",
    "Put it into an item: $expand=company({option}={value:.20}).",
)
SEMICOLON_IN_WORD = INVALID_URL.row(
    "';' cannot be part of a word", "Write it as %3B, or put the words in double quotes."
)
NOT_AN_ALIAS = INVALID_URL.row(
    "{name!q} is not a parameter alias", "Write a name after the @, such as @p."
)
ALIAS_IN_KEY = INVALID_URL.row(
    "The parameter alias {alias} is not {lacking}, but a key needs a value", "Give it a literal."
)
ALIAS_TOO_LARGE = INVALID_URL.row(
    "The parameter alias {alias} and the aliases in it make the expression exceed the limit of "
    "{nodes} parts, {members} members of lists or {levels} levels",
    "Use fewer of them.",
)
ALIAS_CYCLE = INVALID_URL.row(
    "The parameter alias {alias} refers to itself ({cycle:.200})", "Remove the cycle."
)
ALIAS_TOO_DEEP = INVALID_URL.row(
    "The parameter alias {alias} exceeds the limit of {limit} aliases in one another",
    "Refer to it directly.",
)

# the syntax of expressions and lists
EMPTY_TEXT = INVALID_URL.row("{option} is empty", "{advice}")
UNEXPECTED = _syntax("Expected {expected}{after}, found {found}", "{advice}")
NO_VALUE = replace(UNEXPECTED, group="NO_EXPRESSION")
NO_BLANK = _syntax("Expected a space {side} '{word}'", "Write for example `name eq 'A'`.")
NOT_CLOSED = _syntax("'{opening}' is not closed", "Add a `{closing}`.")
NOT_OPEN = _syntax(
    "'{closing}' closes a bracket that is not open", "Remove it, or open a bracket before it."
)
NOT_A_GUID = _syntax(
    "{guid!q} is not a Guid",
    "A Guid has 8-4-4-4-12 hexadecimal digits: 5d115c9c-44e3-ea11-bb43-000d3a2feca1.",
)
OLD_PREFIX = _syntax(
    "The literal prefix {prefix!q} is of an older version of OData",
    "Write the value as {literal}.",
)
UNKNOWN_PREFIX = _syntax(
    "Unknown literal prefix {prefix!q}",
    "Remove it, or write an operator and a space before the quote.",
)
MALFORMED_LITERAL = _syntax(
    "The literal with the prefix {prefix!q} is malformed", "Write for example {example}."
)
NOT_A_PATH = _syntax(
    "Expected a path, found {path!q}",
    "Join names by single `/`; `$it`, `$this` or `$root` can begin a path, and `/$count` can end "
    "it.",
)
INCOMPLETE_LAMBDA = _syntax(
    "'{operator}' lacks its collection, variable or condition",
    "Write for example `items/{operator}(d:d/number eq 'A')`.",
)
TOO_MANY_NODES = INVALID_URL.row(
    "The expression exceeds the limit of {limit} parts",
    "Replace alternatives by a list, `name in ('A','B')`, or send several requests.",
)
TOO_DEEP = INVALID_URL.row(
    "The expression exceeds the limit of {limit} levels of nesting",
    "Nest it less: a chain of `and` or `or` needs no parentheses.",
)
TOO_HIGH = INVALID_URL.row(
    "The chain of operators and calls around a value exceeds the limit of {limit} levels",
    "Use fewer of them.",
)
LONG_LIST = INVALID_URL.row(
    "The list exceeds the limit of {limit} members", "Send several requests with shorter lists."
)
NAME_TWICE = _syntax("The name {name!q} is given twice", "Give each item its own name.")
LONG_NAME = INVALID_URL.row(
    "The name {name!q} exceeds the limit of {limit} characters", "Shorten it."
)
NOT_SELECTABLE = _syntax("{name!q} is not a property", "Write for example `number,displayName`.")
UNKNOWN_TRANSFORMATION = INVALID_URL.row(
    "$apply has no transformation {name!q}",
    "Write for example `groupby((city),aggregate($count as customers))`.",
)
UNKNOWN_METHOD = INVALID_URL.row("aggregate has no method {name!q}", "Use one of {methods}.")
GROUPS_TOO_DEEP = INVALID_URL.row(
    "The group exceeds the limit of {limit} levels of nesting", "Nest groups less."
)
SEARCH_TOO_LONG = INVALID_URL.row(
    "The search exceeds the limit of {limit} parts", "Send several searches."
)
SEARCH_TOO_DEEP = INVALID_URL.row(
    "The search exceeds the limit of {limit} levels of nesting", "Nest the search less."
)
NUL_IN_SEARCH = _syntax("The search contains a NUL character", "Remove it.")

# $expand
EXPAND_TOO_DEEP = INVALID_URL.row(
    "$expand exceeds the limit of {limit} levels of nesting",
    "Follow the navigation in separate requests.",
)
EXPAND_TOO_LONG = INVALID_URL.row("$expand exceeds the limit of {limit} items", "Expand fewer.")
NOT_NAVIGATION = _syntax(
    "{path!q} is not a navigation path", "Write for example `prices($filter=quantity gt 1;$top=5)`."
)
NO_EXPAND_OPTION = _syntax("{name!q} is not an option of this item", "{advice}")
TEXT_NOT_CLOSED = _syntax(
    "The quote ' is not closed", "Close it, and double a quote inside a text: 'O''Neil'."
)
PHRASE_NOT_CLOSED = _syntax(
    'The quote " is not closed', "Close it, with `\\` before a quote inside."
)
NOT_LEVELS = INVALID_URL.row(
    "Invalid value {value!q} for $levels", "Send max, or a number such as 1."
)

# paths
MALFORMED_SEGMENT = INVALID_URL.row("The path segment {segment!q} is malformed", "{advice}")
MALFORMED_KEY = replace(MALFORMED_SEGMENT, check=Check.RESOURCE, group="MALFORMED_KEY")
LONG_KEY = replace(MALFORMED_KEY, remedy="A key has up to {most} parts.")
UNNAMED_PARTS = replace(
    MALFORMED_KEY, remedy="Give each part of the key its own name: (a='1',b='2')."
)
SEGMENT_NOT_UTF_8 = INVALID_URL.row(
    "The path segment {segment!q} is not UTF-8", "Percent-encode it as UTF-8."
)
NUL_IN_SEGMENT = INVALID_URL.row("The path segment {segment!q} contains NUL", "Remove it.")
