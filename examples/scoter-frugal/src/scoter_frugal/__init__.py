"""An example of a third party's plug-ins for Scoter."""
