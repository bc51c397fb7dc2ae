"""The translation of a Nutch configuration.

- ``translation``  translates the properties of a site file: start here
- ``site``         reads site files and those that they include
- ``names``        Nutch names that are not declared with a setting
- ``property_values``  translates values
- ``files``        the files that Nutch's plug-ins read, and the settings that name them
- ``hosts``        Nutch's files about single hosts, converted
- ``xml``          reads Nutch's XML files
"""
