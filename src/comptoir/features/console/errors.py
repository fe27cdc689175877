"""The refusals of the console, and its messages to operators."""

from comptoir.auth.origins import CONSOLE
from comptoir.errors.operator_rows import OperatorRow
from comptoir.errors.refusal import Check, ErrorType
from comptoir.errors.table import (
    BAD_REQUEST,
    BODY_TOO_LARGE,
    COMPANY_NOT_FOUND,
    DATABASE_UNREACHABLE,
    KEY_EXISTS,
    METHOD_NOT_ALLOWED,
    RECORD_NOT_FOUND,
    REQUEST_DENIED,
    RESOURCE_NOT_FOUND,
    TOO_MANY_REQUESTS,
    UNAVAILABLE,
    UNSUPPORTED_MEDIA_TYPE,
)

MISDIRECTED = ErrorType("Console_Misdirected", 421, Check.RESOURCE,
    "The console is not at the address of the request.", "Open it at one of its addresses.")
ISSUER_FAILED = ErrorType("Console_IssuerFailed", 502, Check.SERVICE,
    "The issuer did not answer, or not as it should.", "Begin the login again.")

_ASK = "Begin the login again. If that fails too, ask the operator"

# fmt: off
NOTHING_CHOSEN = OperatorRow("no {what} is chosen",
    "Choose at least one, or remove the restriction.")
MISSING = OperatorRow("this is missing", "Enter it.")
ROLE_EXISTS = OperatorRow("a role already has this name", "Choose another one.")
CHANGED_MEANWHILE = OperatorRow("somebody else has changed this client meanwhile",
    "Compare your entries with what it is now, and save again.")
CONSOLE_WITHOUT_TLS = OperatorRow("the console is on, and browsers use {url} without TLS",
    "Set tls_certificate and tls_key, or public_url to an https address, or console to off.")

# Requests
OTHER_ADDRESS = MISDIRECTED.row("The console is not at this address", "Open it at {addresses}.")
OTHER_SITE = REQUEST_DENIED.row("The form was sent from another site", "Open its page again, and send it.")
NO_PAGE = RESOURCE_NOT_FOUND.row("The console has no page at this address", f"Begin at {CONSOLE}.")
NO_SUCH_FORM = METHOD_NOT_ALLOWED.row("This page has no such form", f"Begin at {CONSOLE}.")
CONCERNS_ALL = REQUEST_DENIED.row("This concerns all companies, and {subject} has some of them",
    "Log in with a link of `comptoir console` without --company.")
OTHER_ROLE = REQUEST_DENIED.row("This needs the role {needed}, and {subject} has {role}",
    "Log in with a link of `comptoir console --role {needed}`.")
LONG_FORM = BAD_REQUEST.row("The form has more than {limit} fields", "Send less at a time.")
LARGE_FORM = BODY_TOO_LARGE.row("The form has more than {limit:,} bytes", "Go back to it, and shorten a text.")
NO_FORM = UNSUPPORTED_MEDIA_TYPE.row("The request does not send a form", "Send {media}.")
NOT_POSSIBLE = KEY_EXISTS.row("{problem}", "{remedy}")
NO_ANSWER = DATABASE_UNREACHABLE.row("The database does not answer",
    "Try again in a moment. `/readyz` and the log of the service say what is wrong.", headers={"Retry-After": "5"})

# Logins
WRONG_CODE = REQUEST_DENIED.row("The code is wrong, was used, or has ended", "Get a new link with `comptoir console`.")
NO_LOGIN = RESOURCE_NOT_FOUND.row("The console has no login with this issuer", f"Begin at {CONSOLE}/login.")
NOT_BEGUN = REQUEST_DENIED.row("This browser has not begun a login with {issuer} in the last {minutes} minutes",
    "Begin it again.")
OTHER_LOGIN = REQUEST_DENIED.row("The answer belongs to another login (state)", "Begin the login again.")
FINISHED_LOGIN = REQUEST_DENIED.row("This login was finished before, or its issuer was removed", "Begin it again.")
CANCELLED = REQUEST_DENIED.row("The login was cancelled at {issuer}", "Begin it again to log in.")
NO_CODE = REQUEST_DENIED.row("{issuer} did not give a code", f"{_ASK} to check the issuer.")
LONG_NAME = REQUEST_DENIED.row("The name of the user is too long", "Ask the operator to give the issuer a shorter name.")
NO_ROLE = REQUEST_DENIED.row("{issuer} gives you no role in the console", "Ask the operator for a role.")
MANY_LOGINS = UNAVAILABLE.row("{count} other logins wait for {issuer}",
    "Begin the login again in a moment.", headers={"Retry-After": "1"})
LOGIN_FAILED = ISSUER_FAILED.row("The login with {issuer} failed",
    "Begin it again. If that fails too, ask the operator: the audit log has the reason.")
INVALID_ID_TOKEN = REQUEST_DENIED.row("The ID token of {issuer} was not accepted", f"{_ASK}: the audit log has the reason.")

# Screens
NO_CLIENT = RESOURCE_NOT_FOUND.row("No client has this name", "Choose one in the list.")
NO_ROLE_NAMED = RESOURCE_NOT_FOUND.row("No role has this name", "Choose one in the list.")
OTHER_SESSIONS = REQUEST_DENIED.row("Only an admin may end the sessions of others", "End your own sessions.")
NO_COMPANY = COMPANY_NOT_FOUND.row("You may see no company", "Create one with `comptoir company create NAME`, then load this page again.")
UNANSWERED = UNAVAILABLE.row("The service did not answer in time", "Load the record again, to see whether it was changed.")
NO_SET = RESOURCE_NOT_FOUND.row("The model has no entity set {name!q}", "Choose one from the list of records.")
NO_RECORD = RECORD_NOT_FOUND.row("The record or its change does not exist, or not any more",
    "If it was deleted, find its delete in the list of changes, and create it again from there.")
READ_ONLY_SET = BAD_REQUEST.row("{set} is read-only", "Load its records with `comptoir load`.")
NO_HISTORY = RESOURCE_NOT_FOUND.row("The values before change {number!q} are not kept",
    "Choose another change from the list of changes.")
FORM_FIELD = BAD_REQUEST.row("The form lacks {name}, or it was changed on the way", "Open the record again.")
LOGINS_FAILED = TOO_MANY_REQUESTS.row("Too many logins from this address failed",
    "Wait for the seconds in Retry-After, and log in again.", headers={"Retry-After": "{seconds}"})
