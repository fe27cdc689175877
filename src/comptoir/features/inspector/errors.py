"""The refusals of the screen of requests, and the messages to operators, a row for each."""

from comptoir.errors.operator_rows import OperatorRow
from comptoir.errors.table import BAD_REQUEST, KEY_EXISTS, RESOURCE_NOT_FOUND

INSPECT_WITHOUT_CONSOLE = OperatorRow("inspect is {inspect}, but the console, which shows requests, is not served",
    "Set console to on, or inspect to off.")
UNKNOWN_CHOICE = BAD_REQUEST.row("The form has a value that does not exist", "Choose one of the list.")
OTHER_PATH = BAD_REQUEST.row("The console does not send a request to this path",
    "Begin it with {base}/, without a host. Use curl for a batch.")
HEADER_LINE = BAD_REQUEST.row("Line {line} is not a header that HTTP allows: {text!q}",
    "Write a name, a colon and a value, each header on a line.")
OWN_HEADER = BAD_REQUEST.row("The console sets the header {name} by itself, or leaves it out", "Remove it.")
NOT_COMPLETE = BAD_REQUEST.row("A part of this was not kept", "Complete it. Replace {mask} by a value.")
NO_TAG = RESOURCE_NOT_FOUND.row("No record with an ETag is at this address now", "Check the path.")
NOT_REPLAYABLE = KEY_EXISTS.row("{reason}", "Send it from its client instead.")
NOT_KEPT = RESOURCE_NOT_FOUND.row("No request with this id is kept", "Each worker keeps its last "
    "{count} requests while it records. Choose one from the list of requests.")
