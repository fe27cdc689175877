"""What is shown of URLs and bodies: neither the values of secret properties nor credentials."""

from urllib.parse import quote

import msgspec

from comptoir.catalog import MODEL
from comptoir.http.redaction import MASK, Redactor
from support.together import together

REDACTOR = Redactor(["onlinePassword"])


@together(
    ("query", "shown"),
    [
        ("", ""),
        ("$filter=city eq 'Ulm'&$top=5", "$filter=city eq 'Ulm'&$top=5"),
        ("$select=id,onlinePassword&$top=5", "$select=id,onlinePassword&$top=5"),
        ("$filter=onlinePassword eq 'x'&$top=5", f"$filter={MASK}&$top={MASK}"),
        ("$filter=ONLINEPASSWORD eq @p&@p='x'", f"$filter={MASK}&@p={MASK}"),
        ("$select=concat(onlinePassword,'x')", f"$select={MASK}"),
        ("$filter=online%50assword eq 'x'", f"$filter={MASK}"),
        ("$filter=online%2550assword eq 'x'", f"$filter={MASK}"),
        ("$filter=online%252525252550assword eq 'x'", f"$filter={MASK}"),
        (r'@p={"online\u0050assword":"x"}', f"@p={MASK}"),
        ("@p={%22online%5Cu0050assword%22:%22x%22}", f"@p={MASK}"),
        ("onlinePassword=x", MASK),
        ("access_token=x&$top=1", f"access_token={MASK}&$top=1"),
        ("Client%5FSecret=x", f"Client%5FSecret={MASK}"),
        ("$filter=city eq '100%25'", "$filter=city eq '100%25'"),
    ],
)
def test_a_query(query: str, shown: str) -> None:
    assert REDACTOR.query(query) == shown


@together(
    ("path", "shown"),
    [
        ("/api/companies(1)/contactsExt(2)", "/api/companies(1)/contactsExt(2)"),
        ("/api/contactsExt(onlinePassword='x')/city", f"/api/{MASK}"),
        ("/api/contactsExt(1)/onlinePassword", f"/api/contactsExt(1)/{MASK}"),
        (
            f"/api/{quote(quote('contactsExt(onlinePassword=x/y)', safe=''), safe='')}",
            f"/api/{MASK}",
        ),
        ("/api/x;jsessionid=CANARY/y", f"/api/x;jsessionid={MASK}"),
        ("/x/%3Faccess_token%3DCANARY", MASK),
    ],
)
def test_a_path(path: str, shown: str) -> None:
    assert REDACTOR.path(path) == shown


def test_any_beginning_of_a_body() -> None:
    """A body that is cut within a secret, or within its name, shows nothing of it."""
    body = r'{"a":"x","onlinePassword":"Can\"ary\\","b":1,"onlinePassword":73917,"c":"z"}'
    for end in range(len(body) + 1):
        shown = REDACTOR.written(body[:end])
        assert "Can" not in shown
        assert "739" not in shown
    whole = REDACTOR.written(body)
    assert whole == f'{{"a":"x","onlinePassword":"{MASK}","b":1,"onlinePassword":"{MASK}","c":"z"}}'


@together(
    ("asked", "shown"),
    [
        (
            {"headers": {"Authorization": "x", "a": "b"}},
            {"headers": {"Authorization": MASK, "a": "b"}},
        ),
        ({"headers": {"X-Vault-Token": "x"}}, {"headers": {"X-Vault-Token": MASK}}),
        ({"url": "c?$filter=online%50assword eq 'x'"}, {"url": f"c?$filter={MASK}"}),
        (
            {"url": "c(1)/onlinePassword", "body": {"value": "x"}},
            {"url": f"c(1)/{MASK}", "body": MASK},
        ),
        (
            {"url": "c", "headers": {"x-name": "Bearer abcdefgh1", "If-Match": "*"}},
            {"url": "c", "headers": {"x-name": MASK, "If-Match": "*"}},
        ),
        ({"url": "c?access_token=x&$top=1"}, {"url": f"c?access_token={MASK}&$top=1"}),
        (
            {"url": "c?$skiptoken=x", "body": {"value": "x"}},
            {"url": "c?$skiptoken=x", "body": {"value": "x"}},
        ),
    ],
)
def test_a_batch_that_was_refused(asked: object, shown: object) -> None:
    body = msgspec.json.encode({"requests": [asked]})

    text = REDACTOR.sent(body).text

    assert text is not None
    assert msgspec.json.decode(text) == {"requests": [shown]}


SECRETS = (
    *("Authorization", "Proxy-Authorization", "Cookie", "Set-Cookie", "X-Auth", "OAuth", "jwt"),
    *("X-Gitlab-Token", "X-Access-Token", "refresh_token", "idToken", "accesstoken", "tokens"),
    *("api_key", "X-API-Key", "apikey", "APIKey", "access_key", "AccessKeys", "x-functions-key"),
    *("Ocp-Apim-Subscription-Key", "privateKey", "client-secret", "clientSecret", "CLIENT_SECRET"),
    *("secretText", "passwd", "db_pass", "newPassword2", "password_confirmation", "credentials"),
    *("client_assertion", "clientState", "X-Hub-Signature-256", "urlSig", "tokenType"),
    *("numberOfPasswordsChanged", "a.password", "user[password]", "X-Session-Id", "JSESSIONID"),
    *("PHPSESSID", "ASP.NET_SessionId", "connect.sid", "X-OTP", "totpCode", "X-PIN", "userPin"),
    *("PINCODE", "pin_code"),
)
OTHERS = (
    *("Consistency-Token", "$skiptoken", "$skipToken", "$deltatoken", "Prefer", "If-Match"),
    *("secretaryName", "SECRETARY", "tokenized", "author", "AUTHOR", "passenger", "bypass"),
    *("key", "keyword", "primaryKey", "apiVersion", "accessLevel", "config", "signed", "state"),
    *("X-Spin", "pinterest", "shipping", "opinion", "obsession", "inside", "option", "potpourri"),
)
NAMES = [(name, True) for name in SECRETS] + [(name, False) for name in OTHERS]


@together(("name", "is_secret"), NAMES)
def test_a_name(name: str, is_secret: bool) -> None:
    """A name means the same in headers, queries and bodies."""
    value = MASK if is_secret else "value"

    assert REDACTOR.header((name.encode(), b"value")) == (name, value)
    assert REDACTOR.query(f"{quote(name)}=value&$top=1") == f"{quote(name)}={value}&$top=1"
    text = REDACTOR.sent(msgspec.json.encode({"a": [{name: "value"}]})).text
    assert text is not None
    assert msgspec.json.decode(text) == {"a": [{name: value}]}


URLS = (
    *("https://h/x?a=1&access_token=CANARY&b=2", "https://CANARY:x@h/", "https://x:CANARY@h:1/"),
    *("https://h/x#id_token=CANARY", "/x?API%5Fkey=CANARY", "/x?api%255FKEY=CANARY"),
    *("/x?next=https%3A%2F%2Fh%2F%3Fpin%3DCANARY", "/x?next=//h/?sig=CANARY", "/x;sid=CANARY/y"),
    *("//h/?n=%252F%253Fotp%253DCANARY", "https:%2F%2Fu:CANARY@h", "/x?password=a;b,CANARY#CANARY"),
    *("</a?Token=CANARY>; rel=next, </b?x=1>", "</a?x=1>; rel=next, <//u:CANARY@h/b>; rel=prev"),
    *("/verify/eyJhbGci.eyJzdWIi.CANARY", "userId=a,sessionId=CANARY;x=1", 'x, token = "CANARY"'),
    *('{"a": {"password": "CANARY"}}', "via Bearer CANARY-CANARY"),
)


@together("value", URLS)
def test_a_header_with_a_credential(value: str) -> None:
    _, shown = REDACTOR.header((b"Referer", value.encode()))
    assert MASK in shown
    assert "CANARY" not in shown
    assert "CANARY" not in REDACTOR.query(f"url={quote(value, safe='')}&$top=1")


@together(
    "value",
    [
        "https://h.example:8080/shipping?opinion=1&$skiptoken=a==&author=me@h.example",
        '<https://h/x?$deltatoken=a>; rel="next", </y?spin=2>; rel=prev',
        'Bearer realm="comptoir"',
        'Bearer error="invalid_token", error_description="The bearer token was revoked."',
        "application/json;odata.metadata=minimal;IEEE754Compatible=true",
        'W/"7d1b2faf.12=="',
        "https://h/x?$filter=city%20eq%20%27100%2525%27",
        "curl/8.5.0",
        "{5d115c9c-44e3-4a11-bb43-000d3a2feca1}",
    ],
)
def test_a_header_without_a_credential(value: str) -> None:
    assert REDACTOR.header((b"X-Value", value.encode())) == ("X-Value", value)


def test_only_secret_properties_of_the_model_are_masked() -> None:
    declared = [each for name in MODEL.sets for each in name.type.properties]
    body = {each.name: "value" for each in declared}

    text = Redactor.of(MODEL).sent(msgspec.json.encode(body)).text

    assert text is not None
    masked = {name for name, value in msgspec.json.decode(text).items() if value == MASK}
    assert masked == {each.name for each in declared if each.secret}
