"""Settings as options: help text, environment variable and default come from their declaration."""

from typing import Annotated

import typer

from comptoir.config import HELP, Settings, environment_name


def _option(setting: str, name: str | None = None) -> typer.models.OptionInfo:
    flag = name or f"--{setting.replace('_', '-')}"
    default = getattr(Settings(), setting)
    shown = f" [env: {environment_name(setting)}] [default: {default or 'none'}]"
    return typer.Option(flag, help=HELP[setting] + shown, show_default=False)


Database = Annotated[str | None, _option("database")]
Keys = Annotated[str | None, _option("keys")]
Host = Annotated[str | None, _option("host")]
Port = Annotated[int | None, _option("port")]
BasePath = Annotated[str | None, _option("base_path")]
PublicUrl = Annotated[str | None, _option("public_url")]
Workers = Annotated[int | None, _option("workers")]
LogLevel = Annotated[str | None, _option("log_level")]
TrustedProxies = Annotated[str | None, _option("trusted_proxies")]
Config = Annotated[
    str | None,
    typer.Option(
        "--config",
        help=f"A TOML file with a line per setting. [env: {environment_name('config')}]",
        show_default=False,
    ),
]
