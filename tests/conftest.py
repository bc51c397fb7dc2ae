"""Settings for all tests."""

import os
import signal
from collections.abc import Iterator

import pytest
from hypothesis import settings

# The duration of an example depends more on the machine than on the code. In CI a change is not blamed for an old fault
# that chance finds: there the examples are always the same.
settings.register_profile("scoter", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("scoter")

# Shells start background jobs with SIGINT ignored, and child processes inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _restore_ctrl_c() -> Iterator[None]:
    """Undo the handler that a command run in this process may leave behind: it would swallow Ctrl-C."""
    yield
    signal.signal(signal.SIGINT, signal.default_int_handler)
