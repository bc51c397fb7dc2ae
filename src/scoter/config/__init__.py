"""One frozen configuration: defaults < settings of the crawl < TOML file < environment < flags.

- ``sections/``     declares every setting: name, type, default, bounds, description, Nutch name
- ``settings``      how a setting is declared
- ``load``          reads a configuration; also the tables ``[plugin.NAME]``
- ``sources``       where values come from: file, environment, flags
- ``setting_values``  reads and writes the value of a setting
- ``units``         durations, sizes, port ranges and networks
- ``named_files``   reads the files of lines that settings name
- ``trust``         which settings others may set
- ``show``          prints the configuration
- ``docs``          generates docs/settings.md
"""

from __future__ import annotations

from scoter.config.load import Loaded, RenamedSetting, load, load_with_origins, plugin_key, plugin_settings
from scoter.config.sections import Config
from scoter.config.settings import Setting
from scoter.config.sources import GivenValue, SettingOrigin
from scoter.config.units import Network, PortRange, Size

__all__ = [
    "Config",
    "GivenValue",
    "Loaded",
    "Network",
    "PortRange",
    "RenamedSetting",
    "Setting",
    "SettingOrigin",
    "Size",
    "load",
    "load_with_origins",
    "plugin_key",
    "plugin_settings",
]
