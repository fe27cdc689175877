"""401 until the client sends another token."""

from msgspec.structs import replace
from typing_extensions import override

from comptoir.auth.verification import invalid_token
from comptoir.errors.refusal import Refusal
from comptoir.errors.table import INVALID_CREDENTIALS
from comptoir.features.rehearsal.faults.fault import AffectedRequest, Fault, word
from comptoir.features.rehearsal.traps import Trap

TOKEN_EXPIRED = INVALID_CREDENTIALS.row(
    "The bearer token expired (exp)", "Get a new one.", group="BAD_CREDENTIALS"
)
GATEWAY = replace(
    TOKEN_EXPIRED, problem="The gateway has refused the bearer token", group="REFUSED_BY_GATEWAY"
)


class _TokenExpired(Fault):
    trap = Trap.EXPIRED_TOKEN
    ends_token = True
    by: str = word(
        "Who refuses the token: the service, or a gateway in front of it.", "service", "gateway"
    )

    @override
    def refusal(self, affected: AffectedRequest) -> Refusal:
        return invalid_token(GATEWAY if self.by == "gateway" else TOKEN_EXPIRED)
