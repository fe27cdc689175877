"""The entry of an optional part of the service: what it adds, by name, before it is imported."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from comptoir.config import Settings, SettingsPart


class FeatureEntry(NamedTuple):
    """An optional part of the service, as the list of all has it.

    `commands` are its subcommands by name: the place of each as `module:name`, and the first
    paragraph of its help. `settings` is the type of its settings. `profiles` are those that it
    brings, by name: the place of a function from the settings to the profile. `mount` is the place
    of its `http.feature.Feature`, in a service for which `is_on`. `quickstart` is the place of a
    function that prepares `serve --quickstart` and returns what prints how to begin. `tables` is
    the place of the `MetaData` of its tables, which a database has whether or not the part is on.
    `needs` are the names of the parts that it imports or asks.
    """

    name: str
    commands: Mapping[str, tuple[str, str]] = {}
    settings: type[SettingsPart] | None = None
    profiles: Mapping[str, str] = {}
    mount: str = ""
    is_on: Callable[[Settings], bool] = lambda _: True
    quickstart: str = ""
    tables: str = ""
    needs: tuple[str, ...] = ()
