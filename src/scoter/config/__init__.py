"""One frozen configuration: defaults < TOML file < environment < flags.

- ``sections/`` declares every setting: name, type, default, bounds, its sentence, its Nutch name
- ``units``, ``values``: how a value is read and written
- ``sources``, ``load``: where values come from, and what wins
- ``plugin``: the tables ``[plugin.NAME]``
- ``show``, ``docs``, ``nutch``: what is printed, documented and translated from the declarations
"""

from __future__ import annotations

from scoter.config.load import Loaded, load, load_with_origins, plugin_key, plugin_settings
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
    "Setting",
    "SettingOrigin",
    "Size",
    "load",
    "load_with_origins",
    "plugin_key",
    "plugin_settings",
]
