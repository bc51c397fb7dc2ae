"""Example plug-ins for Scoter: ``filters`` has a URL filter, ``scoring`` a scoring filter."""
