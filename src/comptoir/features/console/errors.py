"""The refusals of the console, and its messages to operators."""

from comptoir.errors.operator_rows import OperatorRow
from comptoir.errors.table import (
    BAD_REQUEST,
    COMPANY_NOT_FOUND,
    RESOURCE_NOT_FOUND,
    UNAVAILABLE,
    UNSUPPORTED_MEDIA_TYPE,
)

# fmt: off
NO_SCOPE_CHOSEN = OperatorRow("a client needs a scope", "Choose at least one.")
NOTHING_CHOSEN = OperatorRow("no {what} is chosen",
    "Choose at least one, or remove the restriction.")
INVALID_NUMBER = OperatorRow("this is not a valid number", "Enter one from {low} to {high}.")
MISSING = OperatorRow("this is missing", "Enter it.")
ROLE_EXISTS = OperatorRow("a role already has this name", "Choose another one.")
CHANGED_MEANWHILE = OperatorRow("somebody else has changed this client meanwhile",
    "Compare your entries with what it is now, and save again.")

# Refusals
NO_COMPANY = COMPANY_NOT_FOUND.row("You may see no company", "Create one with `comptoir company create NAME`, then load this page again.")
UNANSWERED = UNAVAILABLE.row("The service did not answer in time", "Load the record again, to see whether it was changed.")
NO_SET = RESOURCE_NOT_FOUND.row("The model has no entity set {name!q}", "Choose one from the list of records.")
READ_ONLY_SET = BAD_REQUEST.row("{set} is read-only", "Load its records with `comptoir load`.")
FORM_FIELD = BAD_REQUEST.row("The form lacks {name}, or it was changed on the way", "Open the record again.")
LONG_FORM = BAD_REQUEST.row("The form has more than {limit} fields", "Send less at a time.")
NO_FORM = UNSUPPORTED_MEDIA_TYPE.row("The request does not send a form", "Send {media}.")
