"""Which store answers the reads of a request that says how current they must be."""

from comptoir.edm.model import Company
from comptoir.errors import BAD_REQUEST, Refusal
from comptoir.request.access import INTENT, TOKEN, Access, Seen
from comptoir.store.protocol import Reads, Store

READING = frozenset({"GET", "HEAD"})


def reads_of(store: Store, method: str, access: Access, company: Company | None) -> Reads:
    """What a request under a company reads from; None is a request under no company.

    Only the reads of one company are answered by a replica: how far it is, each company has its
    own number for. Raises `Refusal` (400) for a write that says it reads alone, and for the token
    of another company.
    """
    reads = method in READING
    if access.intent == "readonly" and not reads:
        raise Refusal(
            BAD_REQUEST,
            f"{method[:20]} writes, and {INTENT}: ReadOnly says that the request does not. Leave "
            "the header out, or send ReadWrite.",
            target=INTENT,
        )
    if company is None:
        return store
    if access.seen is not None:
        _check_token(access.seen, company)
    if not (reads and access.may_lag):
        return store
    return store.replicated(company, 0 if access.seen is None else access.seen.number)


def _check_token(seen: Seen, company: Company) -> None:
    if seen.incarnation != company.incarnation:
        raise Refusal(
            BAD_REQUEST,
            f"The {TOKEN} is of another company, or of the time before this one's backup was "
            "restored. Send the one of the last write to this company, or none.",
            target=TOKEN,
        )
