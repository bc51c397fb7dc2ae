"""Settings for all tests."""

import atexit
import gc
import os
import shutil
import signal
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from _pytest.doctest import DoctestModule
from hypothesis import settings

# The duration of an example depends more on the machine than on the code. In CI a change is not blamed for an old fault
# that chance finds: there the examples are always the same.
# The fast suite tries a quarter of the examples; `make test-properties` tries them all.
settings.register_profile("thorough", deadline=None, derandomize="CI" in os.environ, max_examples=100)
settings.register_profile("scoter", settings.get_profile("thorough"), max_examples=25)
settings.load_profile("scoter")

# What commands note about this user must not reach the home directory, nor other tests.
for _base in ("XDG_STATE_HOME", "XDG_CACHE_HOME"):
    os.environ[_base] = tempfile.mkdtemp(prefix="scoter-home-")
    atexit.register(shutil.rmtree, os.environ[_base], ignore_errors=True)

# Shells start background jobs with SIGINT ignored, and child processes inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, Any, Any]:
    """Look for no garbage among modules and tests, now or later: they live until the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()
        gc.set_threshold(20_000, 10, 10)  # by default, a twentieth of the time of the tests is spent on it


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path: Path) -> Generator[None, list[Any], list[Any]]:
    """Search test modules for tests only: looking for doctests in every object of them takes seconds."""
    found = yield
    return [each for each in found if not (isinstance(each, DoctestModule) and file_path.name.startswith("test_"))]


@pytest.fixture(autouse=True)
def _restore_ctrl_c() -> Iterator[None]:
    """Undo the handler that a command run in this process may leave behind: it would swallow Ctrl-C."""
    yield
    signal.signal(signal.SIGINT, signal.default_int_handler)
