"""OAuth clients, unchanged: each gets a token, reads a record, and reports a wrong credential.

They use `comptoir serve --https` and trust its authority by the variables that it prints. A script
that asks another machine, such as one of Microsoft's, fails.
"""

import shutil
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from comptoir.auth.local_authority import Pair
from support.certificates import write_pair
from support.command import Command
from support.greeting import greeting_of
from support.programs import finished, node

HERE = Path(__file__).parent
SERVE = ("serve", "--https", "--port", "0", "--log-level", "warning")
ELSEWHERE = "login.microsoftonline.com"
CODE = "invalid_client"
SECRET_WRONG = "Authentication failed: The client is unknown or disabled, or its secret is wrong"
KEY_WRONG = "Authentication failed: The client is unknown or disabled, or none of its keys"
REFUSALS: Mapping[str, Mapping[str, str]] = {
    "oauth_msal.py": {
        "authority, secret": CODE,
        "authority, certificate": CODE,
        "authority, thumbprint": CODE,
        "oidc_authority, secret": CODE,
        "oidc_authority, certificate": CODE,
    },
    "oauth_azure_identity.py": {"secret": SECRET_WRONG, "certificate": KEY_WRONG},
    "oauth_requests_oauthlib.py": {"basic": CODE, "body": CODE},
    "oauth_authlib.py": {"basic": CODE, "body": CODE, "key": CODE},
    "oauth_msal_node.mjs": {
        "AAD, secret": CODE,
        "AAD, certificate": CODE,
        "OIDC, secret": CODE,
        "OIDC, certificate": CODE,
    },
    "oauth_azure_identity.mjs": {"secret": CODE, "certificate": CODE},
    "oauth_openid_client.mjs": {
        "OpenID Connect, basic": "basic",
        "OpenID Connect, body": CODE,
        "OpenID Connect, key": CODE,
        "RFC 8414, body": CODE,
        "RFC 8414, key": CODE,
    },
    "oauth_client_oauth2.mjs": {"basic": CODE},
    "oauth_simple_oauth2.mjs": {"basic": CODE, "body": CODE},
}
"""How the error begins that each mode of a script reports for a wrong credential."""


class Outcome(msgspec.Struct):
    """The code of the record that a client read, and its error for a wrong credential."""

    record: str
    refusal: str


@dataclass(frozen=True)
class Service:
    """A service that runs, with a record; `variables` is what the scripts must know of it."""

    command: Command
    certificate: Path
    variables: Mapping[str, str]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """On SQLite, because the database makes no difference to the scripts."""
    folder = tmp_path_factory.mktemp("oauth-clients")
    command = Command.without_database(folder)
    with command.started(*SERVE) as process:
        greeting = greeting_of(process)
        company = command.done("company", "create", "Webshop").last_word
        agents = folder / "shippingAgentsExt.csv"
        agents.write_text("code\nDHL\n")
        command.done("load", "--company", company, agents)
        pair = new_pair(folder, "client")
        variables = {
            **greeting.variables,
            "ORIGIN": greeting.origin,
            "RECORDS": f"{greeting.base_url}/companies({company})/shippingAgentsExt",
            "KEY": in_one_file(pair),
            "OTHER_KEY": in_one_file(new_pair(folder, "other")),
        }
        yield Service(command, pair.certificate, variables)


def new_pair(folder: Path, name: str) -> Pair:
    """A certificate and its key, of the only type that all clients support."""
    key = rsa.generate_private_key(65537, 2048)
    return write_pair(Pair(folder / f"{name}.crt", folder / f"{name}.key"), key=key)


def in_one_file(pair: Pair) -> str:
    file = pair.key.with_suffix(".pem")
    file.write_bytes(pair.key.read_bytes() + pair.certificate.read_bytes())
    return str(file)


@pytest.fixture
def variables(script: str, service: Service) -> Mapping[str, str]:
    """What a script must know, with a client of its own: wrong credentials slow a client down."""
    done = service.command.done
    client_id, secret = done("client", "add", script, "--scope", "records.read").out.split()
    done("client", "key", "add", script, service.certificate)
    return {**service.variables, "CLIENT_ID": client_id, "CLIENT_SECRET": secret}


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The scripts in JavaScript, in a folder with the packages that they import."""
    folder = tmp_path_factory.mktemp("scripts")
    (folder / "node_modules").symlink_to(node().packages, target_is_directory=True)
    for script in HERE.glob("oauth_*.mjs"):
        shutil.copy(script, folder)
    return folder


@pytest.mark.parametrize("script", [each for each in REFUSALS if each.endswith(".py")])
def test_a_client_in_python(script: str, variables: Mapping[str, str]) -> None:
    module = f"clients.{script.removesuffix('.py')}"
    check(script, run_python("-m", module, variables=variables))


@pytest.mark.parametrize("script", [each for each in REFUSALS if each.endswith(".mjs")])
def test_a_client_in_javascript(script: str, variables: Mapping[str, str], scripts: Path) -> None:
    check(script, node().run(scripts / script, **variables))


def test_a_script_in_python_that_asks_another_machine_fails(service: Service) -> None:
    code = f"import requests, clients.oauth_report; requests.get('https://{ELSEWHERE}')"
    variables = {**service.variables, "CLIENT_ID": ""}
    with pytest.raises(AssertionError, match=f"asks for {ELSEWHERE}"):
        run_python("-c", code, variables=variables)


def test_a_script_in_javascript_that_asks_another_machine_fails(
    service: Service, scripts: Path
) -> None:
    script = scripts / "elsewhere.mjs"
    script.write_text(f"import './oauth_report.mjs';\nawait fetch('https://{ELSEWHERE}');\n")
    with pytest.raises(AssertionError, match=f"asks for {ELSEWHERE}"):
        node().run(script, **service.variables)


def run_python(*arguments: str, variables: Mapping[str, str]) -> str:
    environment = {**variables, "PYTHONPATH": str(HERE.parent)}
    return finished([sys.executable, *arguments], environment)


def check(script: str, printed: str) -> None:
    report = msgspec.json.decode(printed, type=dict[str, Outcome])
    assert {mode: outcome.record for mode, outcome in report.items()} == dict.fromkeys(
        REFUSALS[script], "DHL"
    )
    for mode, expected in REFUSALS[script].items():
        assert report[mode].refusal.startswith(expected)
