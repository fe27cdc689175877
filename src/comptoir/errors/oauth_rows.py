"""The messages to clients of the token endpoint, a row for each condition of an error.

`docs/reference/errors.md` lists them.
"""

from collections.abc import Mapping
from typing import NamedTuple

from comptoir.errors import table
from comptoir.errors.refusal import OAuthError, OAuthRefusal


class OAuthRow(NamedTuple):
    """A problem and its remedy, as templates (`str.format`) of the facts in braces.

    `reason` is for the operator, where the client must not learn it.
    """

    error: OAuthError
    problem: str
    remedy: str
    reason: str | None = None

    def __call__(
        self, *, headers: Mapping[str, str] | None = None, client: str = "", **facts: object
    ) -> OAuthRefusal:
        """The refusal with its facts."""
        problem, remedy = self.problem.format(**facts), self.remedy.format(**facts)
        return OAuthRefusal(
            self.error, problem, remedy, headers or {}, self.reason or problem, client
        )



NOT_PRIVATE = OAuthRow(table.INVALID_REQUEST, "The request was not sent over HTTPS", "Send it to an https address.")
CREDENTIALS_IN_URL = OAuthRow(table.INVALID_REQUEST, "The URL contains credentials", "Send them in the body, or as Basic.")
NOT_A_FORM = OAuthRow(table.INVALID_REQUEST, "The body is not declared as a form", "Send `Content-Type: {media_type}`.")
UNREADABLE_BODY = OAuthRow(table.INVALID_REQUEST, "{error.problem}", "{error.remedy}")
NOT_ENCODED = OAuthRow(table.INVALID_REQUEST, "The form is not UTF-8 with percent-encoding", "Encode its names and values.")
REPEATED = OAuthRow(table.INVALID_REQUEST, "The parameter {name} is repeated", "Send it once.")
NO_GRANT_TYPE = OAuthRow(table.INVALID_REQUEST, "The request has no grant_type", "Send grant_type={grant}.")
SEVERAL_CREDENTIALS = OAuthRow(table.INVALID_REQUEST, "The request has credentials of more than one kind", "Send one kind.")
SEVERAL_IDS = OAuthRow(table.INVALID_REQUEST, "The request has the ids of two clients", "Send one id.")
NO_TOKEN = OAuthRow(table.INVALID_REQUEST, "The request has no token", "Send token=TOKEN.")
NO_TOKEN_ID = OAuthRow(table.INVALID_REQUEST, "The token has no usable id (jti)", "Wait until it has expired.")

NO_CREDENTIALS = OAuthRow(table.INVALID_CLIENT, "The request has no client credentials",
    "Send client_id and client_secret in the body, or both as Basic, or client_assertion.")
NOT_BASIC = OAuthRow(table.INVALID_CLIENT, "The Authorization header does not contain Basic credentials",
    "Send `Basic` and the base64 of CLIENT_ID:CLIENT_SECRET.")
WRONG_SECRET = OAuthRow(table.INVALID_CLIENT, "The client is unknown or disabled, or its secret is wrong or has ended",
    "Compare both with what `comptoir client add` printed.", "The secret is wrong")
EXPIRED_SECRET = WRONG_SECRET._replace(reason="The secret has expired")
WRONG_KEY = OAuthRow(table.INVALID_CLIENT, "The client is unknown or disabled, or none of its keys signed the assertion",
    "Compare both with what `comptoir client list` prints.", "None of the client's keys signed the assertion")
UNKNOWN_ASSERTION_TYPE = OAuthRow(table.INVALID_CLIENT,
    "The client_assertion_type is missing or not supported", "Send client_assertion_type={type}.")
MALFORMED_ASSERTION = OAuthRow(table.INVALID_CLIENT,
    "The client_assertion is malformed: {reason}", "Send a signed JWT that follows RFC 7523.")
UNKNOWN_ALGORITHM = OAuthRow(table.INVALID_CLIENT, "The assertion's algorithm (alg) is not accepted", "Use {known}.")
NOT_AN_ASSERTION = OAuthRow(table.INVALID_CLIENT, "The assertion's type (typ) is not that of an assertion", "Use JWT.")
REQUIRED_EXTENSIONS = OAuthRow(table.INVALID_CLIENT, "The assertion requires extensions (crit)", "Leave them out.")
DIFFERENT_CLIENTS = OAuthRow(table.INVALID_CLIENT, "The assertion's iss and sub are not the id of the same client",
    "Use the id that `comptoir client add` printed for both, and for client_id.")
ANOTHER_AUDIENCE = OAuthRow(table.INVALID_CLIENT, "The assertion is for another audience (aud)", "Use {audience}.")
EXPIRED = OAuthRow(table.INVALID_CLIENT, "The assertion has expired (exp)", "Sign another one.")
LATE_END = OAuthRow(table.INVALID_CLIENT, "The assertion ends more than an hour from now (exp)", "Set an earlier end.")
NOT_YET_VALID = OAuthRow(table.INVALID_CLIENT, "The assertion is not valid yet (nbf)", "Compare the clocks.")
USED_BEFORE = OAuthRow(table.INVALID_CLIENT, "The assertion was used before (jti)", "Sign one for each request.")

TOO_MANY_FAILURES = OAuthRow(table.SLOW_DOWN, "The client failed to authenticate itself too often",
    "Correct its credentials, then wait for the seconds in Retry-After.")
ANOTHER_CLIENT = OAuthRow(table.UNAUTHORIZED_CLIENT,
    "The token was given to another client", "Use that client, or one with the scope admin.")
UNKNOWN_GRANT_TYPE = OAuthRow(table.UNSUPPORTED_GRANT_TYPE, "The grant type {name} is not supported", "Send grant_type={grant}.")
NO_RESPONSE_TYPE = OAuthRow(table.UNSUPPORTED_RESPONSE_TYPE,
    "The service has no response types, only the grant client_credentials", "Send the client's credentials to the token endpoint.")
MISSING_SCOPE = OAuthRow(table.INVALID_SCOPE, "The client does not have the scope {name}",
    "Ask for scopes that the client has, or leave the parameter out for all of them.")
UNAVAILABLE = OAuthRow(table.TEMPORARILY_UNAVAILABLE, "{error.problem}", "{error.remedy}")
