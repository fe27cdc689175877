"""The refusals of the screen of requests, and the messages to operators, a row for each."""

from comptoir.errors.operator_rows import OperatorRow
from comptoir.errors.table import BAD_REQUEST, KEY_EXISTS, RESOURCE_NOT_FOUND

# fmt: off
INSPECT_WITHOUT_CONSOLE = OperatorRow("inspect is {inspect}, but the console, which shows "
    "requests, is not served",
    "Set console to on, or inspect to off.")
UNKNOWN_CHOICE = BAD_REQUEST.row("The form has a value that does not exist",
    "Choose one of the list.")
UNKNOWN_METHOD = BAD_REQUEST.row("The method {method!q} is not one of the API", "Choose one of the list.")
OTHER_PATH = BAD_REQUEST.row("The path is not of the API", "Begin it with {base}/, without a host.")
PATH_OF_BATCH = BAD_REQUEST.row("The path is that of a batch, which the console does not send",
    "Send one of its requests.")
HEADER_LINE = BAD_REQUEST.row("Line {line} is not a header that HTTP allows: {text!q}",
    "Write a name, a colon and a value, each header on a line.")
OWN_HEADER = BAD_REQUEST.row("The header {name} is not sent, because the request is sent as {by}", "Remove it.")
NOT_COMPLETE = BAD_REQUEST.row("This was not kept as a whole, and is as it was kept", "Complete it.")
WITH_MASK = BAD_REQUEST.row("{mask} takes the place of a secret, which was not kept",
    "Replace it by a value.")
NO_TAG = RESOURCE_NOT_FOUND.row("No record with an ETag is at this address now", "Check the path.")
NOT_REPLAYABLE = KEY_EXISTS.row("{reason}", "Send it from its client instead.")
NOT_KEPT = RESOURCE_NOT_FOUND.row("No request with this id is kept", "Each worker keeps its last "
    "{count} requests while it records. Choose one from the list of requests.")
