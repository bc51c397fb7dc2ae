"""Commands run as in the tests of the command line."""

from tests.cli.conftest import run as run
