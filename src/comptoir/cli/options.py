"""Options that commands share; those of settings follow from the settings' declarations."""

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TypeVar

import click
from typing_extensions import override

from comptoir.auth.fields import Field, guid
from comptoir.config import SETTINGS, Setting, Settings, environment_name, load_settings

T = TypeVar("T")
V = TypeVar("V")
F = TypeVar("F", bound=Callable[..., object])

PATH = click.Path(path_type=Path)

_CONFIG = Setting(Settings, "", (), "", "A TOML file with a line for each setting.")


class _SettingOption(click.Option):
    """An option of a setting, whose variable and default `load_settings` knows."""

    @override
    def resolve_envvar_value(self, ctx: click.Context) -> None:
        return None


def setting_options(*names: str) -> Callable[[F], F]:
    """The options of some settings and of the config file."""

    def decorated(command: F) -> F:
        for name in reversed((*names, "config")):
            declared = SETTINGS.get(name, _CONFIG)
            default, flags = declared.default, declared.part.flags
            of_kind: dict[str, object] = {"type": type(default)}
            of_kind["show_default"] = str(default) or False
            if name in flags:
                of_kind = {"flag_value": "on"}
            click.option(
                f"--{name.replace('_', '-')}",
                cls=_SettingOption,
                help=flags.get(name, declared.help),
                envvar=environment_name(name),
                show_envvar=True,
                **of_kind,
            )(command)
        return command

    return decorated


def settings_options(*names: str) -> Callable[[Callable[..., T]], Callable[..., T]]:
    """Pass the `Settings` to a command, with options for some of them and the config file."""
    options = (*names, "config")

    def decorated(command: Callable[..., T]) -> Callable[..., T]:
        @wraps(command)
        def loaded(**given: object) -> T:
            chosen = click.get_current_context().params
            settings = load_settings({each: chosen[each] for each in options})
            others = {name: value for name, value in given.items() if name not in options}
            return command(settings, **others)

        return setting_options(*names)(loaded)

    return decorated


def option_or_variable(flag: str, *names: str, **attributes: object) -> Callable[[F], F]:
    """An option that an environment variable of its name sets, too."""
    variable = environment_name(flag.removeprefix("--").replace("-", "_"))
    return click.option(
        flag, *names, cls=click.Option, envvar=variable, show_envvar=True, **attributes
    )


def options_of(*entries: Field[object]) -> Callable[[F], F]:
    """The options with which an operator enters the values of fields."""

    def decorated(command: F) -> F:
        for each in reversed(entries):
            several = " May be repeated." if each.separator else ""
            given: dict[str, object] = {"default": each.default} if each.default else {}
            click.option(
                f"--{each.name}",
                each.key,
                cls=click.Option,
                metavar=each.metavar,
                help=each.help + several,
                required=each.is_required,
                multiple=bool(each.separator),
                **given,
            )(command)
        return command

    return decorated


def checked(
    check: Callable[[V], T],
) -> Callable[[click.Context, click.Parameter, V | None], T | None]:
    """A callback that converts the value of an option or an argument, if one is given."""

    def converted(_ctx: click.Context, _param: click.Parameter, value: V | None) -> T | None:
        return None if value is None or value == () else check(value)

    return converted


SERVED = tuple(dict.fromkeys(name for each in SETTINGS.values() for name in each.part.options))
"""The settings that are options of `comptoir serve`."""

COMPANY = option_or_variable(
    "--company",
    "company_id",
    metavar="GUID",
    required=True,
    callback=checked(guid),
    help="The company's id, as `comptoir company list` prints it.",
)
SINCE = option_or_variable(
    "--since",
    type=click.IntRange(min=0),
    metavar="N",
    help="Start after the entry with this number; by default, with the oldest.",
)
FOLLOW = option_or_variable(
    "--follow", is_flag=True, help="Wait for further entries until interrupted."
)
YES = click.option("--yes", is_flag=True, help="Do it without a confirmation.")
