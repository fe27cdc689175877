"""The refusals of paths and query options, which do not follow OData or are not supported."""

from dataclasses import replace
from functools import partial

from comptoir.errors import INVALID_URL, LINK_EXPIRED, NOT_IMPLEMENTED, Check

_syntax = partial(INVALID_URL.row, group="SYNTAX")
"""The factory of the rows of texts that are malformed."""

_NUMBERS = "Use numbers, durations, or a date or date-time with a duration."

NOT_SUPPORTED = NOT_IMPLEMENTED.row("{construct} is not supported", "Send the request without it.")
NOT_APPLICABLE = INVALID_URL.row("{option} does not apply to {resource}", "Remove it.")
DEFINITIONS_FILTER = NOT_IMPLEMENTED.row("This filter of entityDefinitions is not supported",
    "Send for example `$filter=entityName eq 'contact'`.", group="UNSUPPORTED_FILTER")
EXPAND_AGGREGATED = NOT_IMPLEMENTED.row("$expand of an aggregated result is not supported",
    "Group by properties of the related record, as groupby((company/number)).")
EXPAND_WRITTEN = NOT_IMPLEMENTED.row("$expand in {action} is not supported", "Read the record with $expand afterwards.")

# options and parameter aliases
NAMELESS_OPTION = INVALID_URL.row("A query option has no name before its `=`", "{advice}")
UNKNOWN_OPTION = INVALID_URL.row("OData has no query option {name!q}", "Remove it, or give a custom option a name without $.")
GIVEN_TWICE = INVALID_URL.row("{name} is given twice", "Send it once.")
EMPTY_OPTION = INVALID_URL.row("{option} is empty", "Give it a value, or remove it.")
NOT_UTF_8 = INVALID_URL.row("The percent-encoding of {text!q} in {option} is not UTF-8", "Encode the text as UTF-8.")
NOT_A_WHOLE_NUMBER = INVALID_URL.row("Invalid value {value!q} for {option}", "Send a non-negative integer.")
NOT_A_BOOLEAN = INVALID_URL.row("Invalid value {value!q} for {option}", "Send true or false.")
OTHER_SCHEMA_VERSION = INVALID_URL.row("Invalid value {value!q} for {option}", "Send {versions}, or remove it.")
LEVELS_OUTSIDE = INVALID_URL.row("{option} applies only within $expand", "Put it into an item: $expand=company({option}={value:.20}).")
SEMICOLON_IN_WORD = INVALID_URL.row("';' cannot be part of a word", "Write it as %3B, or put the words in double quotes.")
NOT_AN_ALIAS = INVALID_URL.row("{name!q} is not a parameter alias", "Write a name after the @, such as @p.")
ALIAS_IN_KEY = INVALID_URL.row("The parameter alias {alias} is not {lacking}, but a key needs a value", "Give it a literal.")
ALIAS_TOO_LARGE = INVALID_URL.row(
    "The parameter alias {alias} and the aliases in it make the expression exceed the limit of "
    "{nodes} parts, {members} members of lists or {levels} levels",
    "Use fewer of them.",
)
ALIAS_CYCLE = INVALID_URL.row("The parameter alias {alias} refers to itself ({cycle:.200})", "Remove the cycle.")
ALIAS_TOO_DEEP = INVALID_URL.row("The parameter alias {alias} exceeds the limit of {limit} aliases in one another", "Refer to it directly.")

# the syntax of expressions and lists
EMPTY_TEXT = INVALID_URL.row("{option} is empty", "{advice}")
UNEXPECTED = _syntax("Expected {expected}{after}, found {found}", "{advice}")
NO_VALUE = replace(UNEXPECTED, group="NO_EXPRESSION")
NO_BLANK = _syntax("Expected a space {side} '{word}'", "Write for example `name eq 'A'`.")
NOT_CLOSED = _syntax("'{opening}' is not closed", "Add a `{closing}`.")
NOT_OPEN = _syntax("'{closing}' closes a bracket that is not open", "Remove it, or open a bracket before it.")
NOT_A_GUID = _syntax("{guid!q} is not a Guid", "A Guid has 8-4-4-4-12 hexadecimal digits: 5d115c9c-44e3-ea11-bb43-000d3a2feca1.")
OLD_PREFIX = _syntax("The literal prefix {prefix!q} is of an older version of OData", "Write the value as {literal}.")
UNKNOWN_PREFIX = _syntax("Unknown literal prefix {prefix!q}", "Remove it, or write an operator and a space before the quote.")
MALFORMED_LITERAL = _syntax("The literal with the prefix {prefix!q} is malformed", "Write for example {example}.")
NOT_A_PATH = _syntax("Expected a path, found {path!q}",
    "Join names by single `/`; `$it`, `$this` or `$root` can begin a path, and `/$count` can end it.")
INCOMPLETE_LAMBDA = _syntax("'{operator}' lacks its collection, variable or condition",
    "Write for example `items/{operator}(d:d/number eq 'A')`.")
TOO_MANY_NODES = INVALID_URL.row("The expression exceeds the limit of {limit} parts",
    "Replace alternatives by a list, `name in ('A','B')`, or send several requests.")
TOO_DEEP = INVALID_URL.row("The expression exceeds the limit of {limit} levels of nesting",
    "Nest it less: a chain of `and` or `or` needs no parentheses.")
TOO_HIGH = INVALID_URL.row("The chain of operators and calls around a value exceeds the limit of {limit} levels", "Use fewer of them.")
LONG_LIST = INVALID_URL.row("The list exceeds the limit of {limit} members", "Send several requests with shorter lists.")
NAME_TWICE = _syntax("The name {name!q} is given twice", "Give each item its own name.")
LONG_NAME = INVALID_URL.row("The name {name!q} exceeds the limit of {limit} characters", "Shorten it.")
NOT_SELECTABLE = _syntax("{name!q} is not a property", "Write for example `number,displayName`.")
UNKNOWN_TRANSFORMATION = INVALID_URL.row("$apply has no transformation {name!q}",
    "Write for example `groupby((city),aggregate($count as customers))`.")
UNKNOWN_METHOD = INVALID_URL.row("aggregate has no method {name!q}", "Use one of {methods}.")
GROUPS_TOO_DEEP = INVALID_URL.row("The group exceeds the limit of {limit} levels of nesting", "Nest groups less.")
SEARCH_TOO_LONG = INVALID_URL.row("The search exceeds the limit of {limit} parts", "Send several searches.")
SEARCH_TOO_DEEP = INVALID_URL.row("The search exceeds the limit of {limit} levels of nesting", "Nest the search less.")
NUL_IN_SEARCH = _syntax("The search contains a NUL character", "Remove it.")

# $expand
EXPAND_TOO_DEEP = INVALID_URL.row("$expand exceeds the limit of {limit} levels of nesting", "Follow the navigation in separate requests.")
EXPAND_TOO_LONG = INVALID_URL.row("$expand exceeds the limit of {limit} items", "Expand fewer.")
NOT_NAVIGATION = _syntax("{path!q} is not a navigation path", "Write for example `prices($filter=quantity gt 1;$top=5)`.")
NO_EXPAND_OPTION = _syntax("{name!q} is not an option of this item", "{advice}")
TEXT_NOT_CLOSED = _syntax("The quote ' is not closed", "Close it, and double a quote inside a text: 'O''Neil'.")
PHRASE_NOT_CLOSED = _syntax('The quote " is not closed', "Close it, with `\\` before a quote inside.")
NOT_LEVELS = INVALID_URL.row("Invalid value {value!q} for $levels", "Send max, or a number such as 1.")

# paths
MALFORMED_SEGMENT = INVALID_URL.row("The path segment {segment!q} is malformed", "{advice}")
MALFORMED_KEY = replace(MALFORMED_SEGMENT, check=Check.RESOURCE, group="MALFORMED_KEY")
LONG_KEY = replace(MALFORMED_KEY, remedy="A key has up to {most} parts.")
UNNAMED_PARTS = replace(MALFORMED_KEY, remedy="Give each part of the key its own name: (a='1',b='2').")
SEGMENT_NOT_UTF_8 = INVALID_URL.row("The path segment {segment!q} is not UTF-8", "Percent-encode it as UTF-8.")
NUL_IN_SEGMENT = INVALID_URL.row("The path segment {segment!q} contains NUL", "Remove it.")
COMPANY_KEY = INVALID_URL.row("The key of a company must be its id, a Guid",
    "Use companies(<guid>), without quotes.", Check.RESOURCE, group="MALFORMED_KEY")
NOT_A_KEY = INVALID_URL.row("({sent:.200}) is not a key of {set}",
    "Use one of its keys, with all properties of the key: {keys}.", Check.RESOURCE, group="MALFORMED_KEY")
QUOTED_KEY = INVALID_URL.row("In a key of {set}, {name} must not be in quotes",
    "Write {name}=…, without quotes.", Check.RESOURCE, group="MALFORMED_KEY")
UNQUOTED_KEY = replace(QUOTED_KEY, problem="In a key of {set}, {name} must be in single quotes", remedy="Write {name}='…'.")
IN_A_PATH = NOT_IMPLEMENTED.row("{name} in a path is not supported", "Use a path without it.")

# names
NO_PROPERTY = INVALID_URL.row("{owner} has no property {name!q}", "Use a name from $metadata.")
UNKNOWN_FIELD = replace(NO_PROPERTY, group="UNKNOWN_FIELD")
UNKNOWN_SELECTED = replace(NO_PROPERTY, group="UNKNOWN_SELECTED")
NO_NAVIGATION = replace(NO_PROPERTY, problem="{owner} has no navigation property {name!q}")
NO_FUNCTION = replace(NO_PROPERTY, problem="OData has no function {name!q}")
NO_TYPE = replace(NO_PROPERTY, problem="The model has no type {name!q}")
PAST_VALUE = INVALID_URL.row("{name:.100} has no properties, so the path {path:.100} does not exist", "End the path with {name:.100}.")
OTHER_TYPE = INVALID_URL.row("The records are of the type {own}, not {name:.100}", "Write {own}, or no type.")
NAME_TAKEN = INVALID_URL.row("{owner} already has a property {alias!q}", "Choose another alias.")
NOT_AGGREGATED = INVALID_URL.row("{path} is not in the aggregated result: {names:.200}", "Group by it, or aggregate it under an alias.")
NOT_RECORDS = INVALID_URL.row("{path} is not a collection of records", "Use a navigation property to many records.")
SEVERAL_RECORDS = INVALID_URL.row("{path} leads to several records", "Use any, all or $count.")
NOT_QUERIED = INVALID_URL.row("{name} is {what}", "Use another property.")

# the meaning of expressions
NOT_A_CONDITION = INVALID_URL.row("{node} is {type}, not a condition", "Compare it with a value.")
NOT_A_COLLECTION = INVALID_URL.row("{node} is {other}not a collection", "Write a list in parentheses.")
ARGUMENTS_OF_TYPE = INVALID_URL.row("The function {function} has {count} arguments instead of 1 or 2",
    "Write for example {function}(number,Edm.String).")
NOT_AN_ENTITY_TYPE = INVALID_URL.row("The function {function} with one argument requires an entity type",
    "Write {namespace}. and its name, or a value before the type.")
ARITHMETIC_OF_TWO = INVALID_URL.row("The operator {operator} does not apply to {one} ({left}) and {other} ({right})", _NUMBERS)
ARITHMETIC_OF_TYPE = INVALID_URL.row("The operator {operator} does not apply to {type}", _NUMBERS)
NO_NEGATIVE = INVALID_URL.row("{node} is {type}, which has no negative", "Negate a number or a duration.")
BY_ZERO = INVALID_URL.row("The divisor of {operator} is zero", "Divide by another number.")
TOO_FEW_ARGUMENTS = INVALID_URL.row("The function {function} has {arguments} instead of {counts}", "Add an argument.")
TOO_MANY_ARGUMENTS = replace(TOO_FEW_ARGUMENTS, remedy="Remove an argument.")
ARGUMENT_TYPE = INVALID_URL.row("{node} is {type}, but {function} requires {wanted}", "Use another value, or convert it with cast.")
OFFSET = INVALID_URL.row("The function {function} is computed in UTC, but {node} has an offset", "Write the literal in UTC, with Z.")
NEGATIVE_LENGTH = INVALID_URL.row("The length of substring is negative", "Write 0 or more.")
PATTERN = INVALID_URL.row("The pattern has {construct}", "Correct the pattern.")
NOT_PRIMITIVE = INVALID_URL.row("{name:.100} is an entity type, not a primitive type", "Write a type such as Edm.String, without quotes.")
NOT_A_TYPE = INVALID_URL.row("{node} is not a type", NOT_PRIMITIVE.remedy)
RECORDS_COMPARED = INVALID_URL.row("The operator {operator} does not apply to records", "Compare a property of the record.")
RECORDS_OF_TYPES = INVALID_URL.row("{left} and {right} are records whose keys differ in type", "Compare properties of one type.")
TYPES_COMPARED = INVALID_URL.row("{left} is {one}, but {right} is {other}", "Use values of one type.")
LITERAL_COMPARED = INVALID_URL.row("{node} is {type}, but is compared with {wanted}", "Write {form}.")
TOO_PRECISE = INVALID_URL.row("{node} is too precise to compute with", "Write fewer digits.")
TOO_LARGE = INVALID_URL.row("{node} is outside the range of numbers",
    "Write an integer of up to 64 bits, or up to {whole} digits before the decimal point and up to {scale} after it.")
RECORDS_SORTED = INVALID_URL.row("{node} is a record, and records have no order", "Sort by a property of the record.")
TOO_MANY_KEYS = INVALID_URL.row("The order exceeds the limit of {limit} keys", "Sort by fewer.")
ALTERNATIVES = NOT_IMPLEMENTED.row("The operator or with several properties is not supported",
    "Send the request without it.", group="ALTERNATIVES")
FILTER_PART = replace(NOT_SUPPORTED, group="UNSUPPORTED_FILTER")
PAIR_INCOMPLETE = INVALID_URL.row("The filter has {name} without {partner}", "Add {partner} eq '…'.")
PAIR_TWICE = INVALID_URL.row("The filter has {name} twice", "Use another number.")
PAIR_NUMBER = INVALID_URL.row("The number of {name:.60} is out of range", "Use a number from 1 to {count}.")
PAIR_OPERATOR = INVALID_URL.row("{name} can only be compared with a text by eq, in conditions joined by and", "Write {name} eq '…'.")
NOT_A_NUMBER = INVALID_URL.row("{method} requires a number, and {node} is {type}", "Aggregate a number, or use countdistinct.")
LONG_PIPELINE = INVALID_URL.row("The pipeline exceeds the limit of {limit} transformations",
    "Join filters by and, and computed properties by commas.")
LONG_WITH_ALIASES = INVALID_URL.row("The expression with its aliases replaced exceeds the limit of {limit} parts", "Write less at once.")
NESTED_QUERIES = NOT_IMPLEMENTED.row("$apply requires more than {most} nested queries",
    "Nest its expressions less deeply, or compute several in one compute.")
TOO_MANY_TERMS = INVALID_URL.row("The search exceeds the limit of {limit} terms", "Search for fewer.")
NESTED_SEARCH = INVALID_URL.row("The nesting of AND and OR exceeds the limit of {limit} levels", "Simplify the search.")
NUL_IN_TERM = INVALID_URL.row("The search contains a NUL character, which no text contains", "Remove it.")
OPTION_OF_RECORD = INVALID_URL.row("{option} does not apply to {name}, which is a single record", "Remove it.")
LONG_EXPANSION = INVALID_URL.row("The option exceeds the limit of {limit} items", "Expand fewer.")
DEEP_EXPANSION = INVALID_URL.row("The nesting exceeds the limit of {limit} levels", EXPAND_TOO_DEEP.remedy)
DEEP_LEVELS = replace(DEEP_EXPANSION, remedy="Send a lower number of $levels.")

# pages
DELTA_TOKEN = INVALID_URL.row("The $deltatoken is damaged or belongs to another query",
    "Follow @odata.deltaLink unchanged, or start over with Prefer: odata.track-changes.")
DELTA_EXPIRED = LINK_EXPIRED.row("The delta link has expired",
    "Read the collection again with Prefer: odata.track-changes, replace your copy of it, and keep its new @odata.deltaLink.")
SKIP_TOKEN = INVALID_URL.row("The $skiptoken is damaged or belongs to another query",
    "Follow @odata.nextLink unchanged, or start over without $skiptoken.", group="LINK_GONE")
