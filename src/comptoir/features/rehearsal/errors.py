"""The refusals and the messages to operators that concern rehearsals, a row for each."""

from msgspec.structs import replace

from comptoir.errors.operator_rows import OperatorRow
from comptoir.errors.refusal import ExceededLimit
from comptoir.errors.table import (
    BAD_REQUEST,
    DATABASE_BUSY,
    INVALID_CREDENTIALS,
    KEY_EXISTS,
    LINK_EXPIRED,
    REQUEST_DENIED,
    REQUEST_TIMEOUT,
    RESOURCE_NOT_FOUND,
    TOO_MANY_REQUESTS,
    UNAVAILABLE,
)

INVALID = BAD_REQUEST.row("Invalid value {value!q} for {place}", "Send {wanted}.")
UNKNOWN_SET = BAD_REQUEST.row("Invalid value {name!q} for {place}", "Use a name from $metadata.")
NOT_ONE_REQUEST = BAD_REQUEST.row("{part} in Comptoir-Fault does not act on a single request", "Use a rule.")
KEY_OR_TIMES = BAD_REQUEST.row("Comptoir-Fault has only one of times and key", "Send both, or neither.")
RULES_OR_PRESET = BAD_REQUEST.row("The document does not have exactly one of rules and preset",
    'Send {{"rules": []}} or {{"preset": "bad-day"}}.')
UNKNOWN_PRESET = BAD_REQUEST.row("The document has no preset {name!q}", "Send one of {presets}.")
TWICE = BAD_REQUEST.row("{what!q} in {place} is given twice", "Send it once.")
UNKNOWN_MEMBER = BAD_REQUEST.row("{owner} has no member {name!q}", "Send only {members}.")
MISSING = BAD_REQUEST.row("{place} is missing", "Add it.")
OTHER_METHOD = BAD_REQUEST.row("{fault} in {place} does not act on {method}", "Match one of {methods}.")
WINDOW_OF_COMPANY = BAD_REQUEST.row("A window in {place} concerns all companies", "Remove the window, or the company.")
SAME_ID = BAD_REQUEST.row("The id {id!q} in {place} is given twice", "Choose another one.")
LONG_DOCUMENT = BAD_REQUEST.row("The document exceeds the limit of {limit} bytes", "Send fewer rules.")
NOT_UTF_8 = BAD_REQUEST.row("The JSON of {place} is not UTF-8", "Encode it as UTF-8.")
MALFORMED = BAD_REQUEST.row("{reason} in {place}", "Correct it.")
NESTED = BAD_REQUEST.row("The JSON of {place} nests too deeply", "Nest it less.")
LONG_FAULT = BAD_REQUEST.row("{place} exceeds the limit of {limit} characters", "Shorten it.")
UNKNOWN_FAULT = BAD_REQUEST.row("Invalid value {name!q} for {place}", "Send one of {faults}.")
EXCLUDED = BAD_REQUEST.row("{one} and {other} in {place} exclude each other", "Send one of them.")
WITHOUT_EFFECT = BAD_REQUEST.row("{name} in {place} has no effect without {needed}", "Add {needed}.")
UNKNOWN_PARAMETER = BAD_REQUEST.row("{owner} has no parameter {name!q}", "It has {parameters}.")
NO_PARAMETERS = replace(UNKNOWN_PARAMETER, remedy="Remove it.")
TIMES_IN_FAULT = replace(UNKNOWN_PARAMETER, remedy="Write it as a member of the rule.")
OTHER_COMPANY = REQUEST_DENIED.row("The rule is not about a company that the token can access",
    "Send the id of one of its companies as match.company.")
ALL_COMPANIES = REQUEST_DENIED.row("This concerns all companies, and the token can access some of them", "Use a token for all companies.")
UNKNOWN_RULE = RESOURCE_NOT_FOUND.row("No rule in force has the id {id!q}", "List the rules.")
MANY_RULES = BAD_REQUEST.row("The list of rules exceeds the limit of {limit} rules", "Remove some.")
RULE_EXISTS = KEY_EXISTS.row("A rule already has the id {id!q}", "Choose another one.")
CLOCK_BACK = BAD_REQUEST.row("The clock cannot move by {seconds:g} seconds, only forward", "Send a positive duration.")
CLOCK_FAR = BAD_REQUEST.row("The clock exceeds the limit of {limit} days ahead", "Reset the clock, or advance it by less.")
NO_KNOWN_FAULT = BAD_REQUEST.row("The form names no known fault", "Choose one in the list.")

# of faults
AWAY = UNAVAILABLE.row("The service is unavailable", "Send the request again later.")
THROTTLED = TOO_MANY_REQUESTS.row("The client has sent too many requests", TOO_MANY_REQUESTS.remedy,
    group="TOO_MANY_REQUESTS", limit=ExceededLimit.RATE)
UNFINISHED = REQUEST_TIMEOUT.row("The service has not finished the request in time", "Send a smaller one.", group="LONG_WORK")
TOUCHED_FIELD = BAD_REQUEST.row("Invalid value {value!q} for field in {place}",
    "Send the name of a text of {owner} that does not identify records.")
TOUCH_DENIED = REQUEST_DENIED.row("touch in Comptoir-Fault needs the scope {scope}, and a client without roles", "Use a rule.")
LOCKED = DATABASE_BUSY.row("Another session is updating records of {set}",
    "Send the request again.", group="LOCKED", headers={"Retry-After": "1"})
LINK_GONE = LINK_EXPIRED.row("The link to this page is not valid any longer", LINK_EXPIRED.remedy, group="LINK_GONE")
TOKEN_EXPIRED = INVALID_CREDENTIALS.row("The bearer token expired (exp)", "Get a new one.", group="BAD_CREDENTIALS")
GATEWAY = replace(TOKEN_EXPIRED, problem="The gateway has refused the bearer token", group="REFUSED_BY_GATEWAY")
RIGHT_LOST = REQUEST_DENIED.row("The client has lost a right on {set}", "Ask the operator for a role that allows it.",
    group="RIGHT_MISSING")
UNDONE = DATABASE_BUSY.row("The batch was undone after a request of it failed", "Send the batch again.", headers={"Retry-After": "1"})
VANISHED = RESOURCE_NOT_FOUND.row("The service does not have {set} now", "Send the request again later.")

# for operators
FILE_OF_RULES = "Name a file with rules in fault_rules."
FAULTS_FOR_OTHERS = OperatorRow("--faults makes requests fail, and others can use {address}",
    'Write faults = "on" into the config file if that is intended.')
UNKNOWN_TRAP = OperatorRow("unknown trap {name} in --require", "Use some of: {known}.")
TRAPS_NOT_MET = OperatorRow("no client has met {traps}", "Let a test meet them, for example by a rule of /faults.")
INVALID_URL = OperatorRow("invalid --url {url}", "Use the address of the service, such as http://127.0.0.1:8080.")
NO_RESPONSE = OperatorRow("{origin} does not respond: {reason}", "Start it with `comptoir serve --faults`, or name another one with --url.")
ANOTHER_RELEASE = OperatorRow("{origin} is a service of another release: {reason}", "Use the same release here and there.")
WITHOUT_FAULTS = OperatorRow("{url} returns {status}", "Start the service with --faults.")
REQUEST_FAILED = OperatorRow("{url} returns {status}", "See its log.")
