"""Settings by their names, whatever part of the service they are of."""

from msgspec.structs import replace

from comptoir.config import SETTINGS, Settings, SettingsPart, SettingValue


def changed(settings: Settings, **given: SettingValue) -> Settings:
    """The same settings with other values."""
    values: dict[type[SettingsPart], dict[str, SettingValue]] = {}
    for name, value in given.items():
        values.setdefault(SETTINGS[name].part, {})[name] = value
    own = values.pop(Settings, {})
    parts = [each for each in settings.parts if type(each) not in values]
    parts += [replace(settings.of(part), **of_part) for part, of_part in values.items()]
    return replace(settings, parts=tuple(parts), **own)


def settings_of(**given: SettingValue) -> Settings:
    """The settings with these values, and else the defaults."""
    return changed(Settings(), **given)
