"""`comptoir issuer`: what is added and listed, and which arguments are refused."""

from support.command import COMPANY, OTHER_COMPANY, Command
from support.databases import ON_SQLITE

URL = "https://issuer.example/tenant"
ADD = ("issuer", "add", "entra", URL, "--unchecked", "--audience", "api://comptoir")
EVERY = ("--company", "*")


def test_an_issuer_is_listed_with_its_options(ready: Command) -> None:
    ready.done(*ADD, *EVERY)
    options = (
        *("--algorithms", "RS256, ES256", "--scope-claim", "scp", "--roles-claim", "groups"),
        *("--map", "Reader=records.read", "--map", "Boss=admin", "--map", "Boss=records.write"),
        *("--companies-claim", "companies", "--require", "tid=a=b"),
    )
    added = ready.done("issuer", "add", "a", "https://a.example", *ADD[4:], *options)
    assert (added.out, added.err) == ("a: added\n", "")
    given = (
        "audience=api://comptoir algorithms=RS256,ES256 scope-claim=scp roles-claim=groups "
        "map=Reader=records.read map=Boss=admin map=Boss=records.write companies-claim=companies "
        "require=tid=a=b"
    )
    usual = "audience=api://comptoir algorithms=RS256 scope-claim=scope roles-claim=roles"
    assert ready.done("issuer", "list").out.splitlines() == [
        f"a https://a.example {given}",
        f"entra {URL} {usual} company=*",
    ]
    acts = [line for line in ready.done("audit").out.splitlines() if '"issuer.add"' in line]
    assert f"{URL} {usual} company=*" in acts[0]


def test_an_issuer_without_companies_is_warned_of(ready: Command) -> None:
    warning = ready.done(*ADD).err
    assert warning == (
        "WARNING: the tokens of entra can access no company. Remove the issuer, and add it with "
        "--company or --companies-claim.\n"
    )
    ready.done("issuer", "remove", "entra")
    assert ready.done(*ADD, "--company", COMPANY, "--company", OTHER_COMPANY.upper()).err == ""
    assert f"company={COMPANY} company={OTHER_COMPANY}" in ready.done("issuer", "list").out
    ready.done("issuer", "remove", "entra")
    unknown = "c0ffee00-0000-4000-8000-00000000000f"
    assert f"the company {unknown} does not exist" in ready.done(*ADD, "--company", unknown).err


def test_a_name_and_a_url_are_taken_until_the_issuer_is_removed(ready: Command) -> None:
    ready.done(*ADD, *EVERY)
    taken = f"comptoir: the issuer entra with the URL {URL} already exists."
    assert ready.error(*ADD, *EVERY).startswith(taken)
    assert ready.error("issuer", "add", "other", *ADD[3:]).startswith(taken)
    other = ready.error("issuer", "add", "entra", "https://other.example", *ADD[4:])
    assert other.startswith(taken)
    assert ready.done("issuer", "remove", "entra").out == "entra: removed\n"
    assert ready.done("issuer", "list").out == ""
    ready.done(*ADD, *EVERY)


def test_an_unknown_issuer_is_an_error(ready: Command) -> None:
    remedy = "List the issuers with `comptoir issuer list`."
    for act in ("refresh", "remove"):
        assert ready.error("issuer", act, "entra") == (
            f"comptoir: the issuer 'entra' does not exist. {remedy}"
        )


@ON_SQLITE
def test_a_name_of_other_parties_and_the_own_url_are_refused(ready: Command) -> None:
    for name in ("client", "Console", "CLI"):
        error = ready.error("issuer", "add", name, *ADD[3:])
        assert "begins the subjects of other parties" in error
    own = "http://127.0.0.1:8080/comptoir/v2.0"
    assert "is this service" in ready.error("issuer", "add", "entra", own, *ADD[4:])


NOT_REACHED = [
    ("http://issuer.example", "does not start with https://"),
    ("https://a:b@issuer.example", "contains a user or a password"),
    ("https://issuer.example:80", "has a port below 1024"),
    ("https://10.0.0.1", "10.0.0.1 is not a global address"),
    ("https://localhost:8443", "is not a global address"),
    ("file:///etc/passwd", "does not start with https://"),
]
"""Some of the addresses of `tests/outgoing/test_guard.py`, which has all of them."""


@ON_SQLITE
def test_an_address_that_may_not_be_reached_is_refused(ready: Command) -> None:
    for url, part in NOT_REACHED:
        error = ready.error("issuer", "add", "entra", url, "--audience", "a", *EVERY)
        assert error.startswith("comptoir: the issuer was not added: ")
        assert part in error
    assert ready.done("issuer", "list").out == ""


INVALID = [
    (("--algorithms", "HS256"), "the token algorithm 'HS256' is not supported"),
    (("--algorithms", ""), "the token algorithm '' is not supported"),
    (("--algorithms", "none"), "the token algorithm 'none' is not supported"),
    (("--map", "Reader"), "invalid mapping 'Reader'"),
    (("--map", "=admin"), "invalid mapping '=admin'"),
    (("--map", "Reader="), "invalid mapping 'Reader='"),
    (("--map", "Reader=shop"), "the role 'shop' does not exist"),
    (("--require", "tid"), "invalid required claim 'tid'"),
    (("--company", "x"), "'x' is not a company's id"),
    (("--company", "*", "--company", COMPANY), "'*' is not a company's id"),
    (("--company", COMPANY, "--companies-claim", "c"), "exclude each other"),
]


@ON_SQLITE
def test_invalid_options_are_refused(ready: Command) -> None:
    for options, part in INVALID:
        assert part in ready.error(*ADD, *options)
    assert ready.done("issuer", "list").out == ""
