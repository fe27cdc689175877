"""Options that commands share; those of settings follow from the settings' declarations."""

from collections.abc import Iterable
from typing import Annotated

import typer
from typer.models import OptionInfo

from comptoir.auth.tokens import MOST_COMPANIES
from comptoir.config import HELP, Settings, environment_name
from comptoir.edm.types import is_guid
from comptoir.errors import OperatorError
from comptoir.messages import quoted


def _option(setting: str) -> OptionInfo:
    flag = f"--{setting.replace('_', '-')}"
    default = getattr(Settings(), setting)
    shown = f" (env {environment_name(setting)}, default {default or 'none'})"
    option: OptionInfo = typer.Option(flag, help=HELP[setting] + shown, show_default=False)
    return option


Database = Annotated[str | None, _option("database")]
ReadDatabase = Annotated[str | None, _option("read_database")]
Keys = Annotated[str | None, _option("keys")]
Host = Annotated[str | None, _option("host")]
Port = Annotated[int | None, _option("port")]
ProfileName = Annotated[str | None, _option("profile")]
Relations = Annotated[str | None, _option("relations")]
Faults = Annotated[
    bool,
    typer.Option(
        "--faults",
        help="Let requests meet faults on demand, to rehearse how a client handles them. "
        f"(env {environment_name('faults')})",
        show_default=False,
    ),
]
FaultRules = Annotated[str | None, _option("fault_rules")]
BasePath = Annotated[str | None, _option("base_path")]
PublicUrl = Annotated[str | None, _option("public_url")]
Workers = Annotated[int | None, _option("workers")]
LogLevel = Annotated[str | None, _option("log_level")]
TrustedProxies = Annotated[str | None, _option("trusted_proxies")]
Config = Annotated[
    str | None,
    typer.Option(
        "--config",
        help=f"A TOML file with a line for each setting. (env {environment_name('config')})",
        show_default=False,
    ),
]
Company = Annotated[
    str,
    typer.Option(
        "--company",
        metavar="GUID",
        envvar=environment_name("company"),
        help="The company's id, as `comptoir company list` prints it.",
    ),
]
Since = Annotated[
    int,
    typer.Option(
        "--since",
        min=0,
        metavar="N",
        envvar=environment_name("since"),
        help="Start after the entry with this number.",
    ),
]
Follow = Annotated[
    bool,
    typer.Option(
        "--follow",
        envvar=environment_name("follow"),
        help="Wait for further entries until interrupted.",
    ),
]


def guid(text: str) -> str:
    """A company id in lower case; raises `OperatorError` if it is not a Guid."""
    if not is_guid(text):
        raise OperatorError(
            f"{quoted(text)} is not a company's id", "Find the ids with `comptoir company list`."
        )
    return text.lower()


def guids(texts: Iterable[str] | None) -> list[str]:
    """Company ids in lower case, each once; raises `OperatorError` for an invalid one."""
    return list(dict.fromkeys([guid(each) for each in texts or ()]))


def token_companies(texts: Iterable[str] | None) -> frozenset[str] | None:
    """The companies of a token, None for all; raises `OperatorError` for too many."""
    companies = frozenset(guids(texts))
    if len(companies) > MOST_COMPANIES:
        raise OperatorError(
            f"a token cannot contain {len(companies)} companies",
            f"Name up to {MOST_COMPANIES}, or none to allow all.",
        )
    return companies or None
