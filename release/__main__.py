"""Build and check a release."""

import argparse

from release.job import release
from release.pythons import SUITES

parser = argparse.ArgumentParser(prog="python -m release", description=__doc__)
parser.add_argument("--python", nargs="+", default=list(SUITES), metavar="VERSION", help="Pythons to build for.")
parser.add_argument("--require", action="store_true", help="Fail if one of them cannot be had.")
options = parser.parse_args()
release(options.python, is_strict=options.require)
