"""Builds and checks the files of a release: ``python -m release``, or ``make release``.

- ``pythons``  the Pythons to build for: of this machine, or in a root file system of a Debian release
- ``job``      builds the files, checks them, installs each into an empty environment and runs the demo there
"""
