"""Invalid settings are refused with their source, their value and a remedy."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from comptoir.config import load_settings
from comptoir.errors.refusal import OperatorError
from support.command import Command
from support.databases import ON_SQLITE
from support.together import together


@together(
    ("variable", "value", "remedy"),
    [
        ("PORT", "70000", "Use an integer from 0 to 65535."),
        ("PORT", "http", "Use an integer from 0 to 65535."),
        ("PORT", "\u0661", "Use an integer from 0 to 65535."),
        ("PORT", "80.5", "Use an integer from 0 to 65535."),
        ("PAGE_SIZE", "0", "Use an integer greater than 0."),
        ("PAGE_SIZE", "1_000", "Use an integer greater than 0."),
        ("SCAN_SECONDS", "-1", "Use a number greater than 0."),
        ("SCAN_SECONDS", "1e999", "Use a number greater than 0."),
        ("SCAN_SECONDS", "nan", "Use a number greater than 0."),
        ("SCAN_SECONDS", "soon", "Use a number greater than 0."),
        ("STATEMENT_CACHE", "-1", "Use 0 or a greater integer."),
        ("HISTORY_DAYS", "1000000", "from 0 to 36500, a hundred years."),
        ("REPEATABILITY_SECONDS", "99999999", "at most 31622400, which is a year."),
        ("BASE_PATH", "api", "Use segments of letters, digits, - . _ and ~, each after a slash"),
        ("BASE_PATH", "/comptoir/api", "Choose another first segment than the names of"),
        ("OAUTH_TENANTS", "", "Use names of lower-case letters, digits, - and ."),
        ("OAUTH_TENANTS", "one, Two", "Use names of lower-case letters, digits, - and ."),
        ("ENVIRONMENTS", ",", "Use names of letters, digits, - . _ and ~, such as Production."),
        ("ENVIRONMENTS", "Production, a/b", "Use names of letters, digits, - . _ and ~"),
        ("INSTANCE", "../etc", "Use letters, digits, - . _ and ~."),
        ("API_VERSION", "", "Use letters, digits, - . _ and ~."),
        ("LOG_LEVEL", "loud", "Use debug, info, warning or off."),
        ("READ_ONLY", "true", "Use on or off."),
        ("READ_ONLY", "ON", "Did you mean on?"),
        ("PUBLIC_URL", "example.com", "Start it with http:// or https://, a host"),
        ("PUBLIC_URL", "https://[::1/api", "Start it with http:// or https://, a host"),
        ("PUBLIC_URL", "https://erp:x/api", "Start it with http:// or https://, a host"),
        ("CLIENT_RATE", "6000 per minute", "Write requests and seconds, such as 6000/300s."),
        ("PUBLIC_URL", "http://h\udcff", "Start it with http:// or https://, a host"),
        ("DATABASE", "sqlite:///\udcff", "Use text in UTF-8, without control characters."),
        ("TOKEN_ISSUER", "\udcff", "Use text in UTF-8, without control characters."),
        ("TOKEN_ISSUER", "a\nb", "Use text in UTF-8, without control characters."),
        ("CORS_ORIGINS", "https://a.example/path", "Use * or sites such as"),
        ("SEED_SHAPES", "off", "COMPTOIR_SEED_SHAPES. Use COMPTOIR_INTERFACE_EXTENSIONS."),
    ],
)
def test_an_invalid_value_is_named_with_a_remedy(variable: str, value: str, remedy: str) -> None:
    with pytest.raises(OperatorError) as refused:
        load_settings({}, {f"COMPTOIR_{variable}": value})
    message = str(refused.value)
    assert variable.lower() in message.lower()
    assert remedy in message


@together(
    ("given", "message"),
    [
        ({"BASE_PATH": "/bc/api"}, "Choose another first segment than bc or v2.0."),
        ({"BASE_PATH": "/v2.0"}, "Choose another first segment than bc or v2.0."),
        ({"OAUTH_TENANTS": "one, bc"}, "Choose other names than bc and v2.0."),
        ({"INSTANCE": "API"}, "Choose another first segment than api or v2.0."),
    ],
)
def test_the_addresses_of_a_profile_differ(given: dict[str, str], message: str) -> None:
    """Under the profile standard, the same settings are valid."""
    environment = {f"COMPTOIR_{name}": value for name, value in given.items()}
    load_settings({}, environment)
    with pytest.raises(OperatorError) as refused:
        load_settings({}, {**environment, "COMPTOIR_PROFILE": "business-central"})
    assert message in str(refused.value)


@together(
    ("content", "message"),
    [
        ("page_size = ", "is not TOML"),
        ("page_sise = 5", "has an unknown setting page_sise. Did you mean page_size?"),
        ("turn_seconds = 5", "has an unknown setting turn_seconds. Use queue_seconds."),
        ("page_size = true", "has an invalid value of page_size. Use text or a number."),
        ("page_size = 'many'", "invalid setting page_size in"),
        ("port = '8080\xa0'", "invalid setting port in"),
        ("workers = 65", "Use an integer from 1 to "),
        ('token_issuer = "\\u0007"', "invalid setting token_issuer"),
        (
            "profile = 'busines-central'",
            "comptoir.toml: 'busines-central'. Did you mean business-central?",
        ),
        ("profile = ''", "comptoir.toml: ''. Use standard or business-central."),
    ],
)
def test_an_invalid_config_file_is_named(content: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "comptoir.toml"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(OperatorError) as refused:
        load_settings({"config": str(file)}, {})
    assert message in str(refused.value)


def test_a_missing_config_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(OperatorError, match="cannot be read: No such file or directory"):
        load_settings({"config": str(tmp_path / "none.toml")}, {})


def test_an_option_overrides_the_environment_and_that_the_file(tmp_path: Path) -> None:
    file = tmp_path / "comptoir.toml"
    file.write_text("page_size = 1\nmax_page_size = 1\nport = 1\n", encoding="utf-8")
    environment = {"COMPTOIR_PAGE_SIZE": "2", "COMPTOIR_PORT": "2", "COMPTOIR_CONFIG": str(file)}
    settings = load_settings({"port": 3}, environment)
    assert (settings.max_page_size, settings.page_size, settings.port) == (1, 2, 3)


def test_a_command_reports_an_invalid_setting_in_one_line(command: Command) -> None:
    file = command.config("page_size = 0\n")
    error = command.run("token", "--config", str(file)).error()
    problem = f"invalid setting page_size in {file}: '0'"
    assert error == f"comptoir: {problem}. Use an integer greater than 0."


WHOLE: Mapping[str, Sequence[str]] = {
    "the config file": ("token", "--config"),
    "rules": ("serve", "--port", "0", "--faults", "--fault-rules"),
    "roles": ("role", "apply"),
    "a public key": ("client", "key", "add", "webshop"),
}


@ON_SQLITE
@pytest.mark.parametrize("file", WHOLE)
def test_a_file_that_is_read_whole_has_an_end(file: str, ready: Command) -> None:
    """No writer of the pipe comes, and `/dev/zero` never ends."""
    large, pipe = ready.folder / "large", ready.folder / "pipe"
    large.write_bytes(b" " * ((1 << 20) + 1))
    os.mkfifo(pipe)
    assert f"{large} has more than " in ready.error(*WHOLE[file], large)
    for path in (pipe, Path("/dev/zero")):
        assert f"{path} is not a regular file. " in ready.error(*WHOLE[file], path)
