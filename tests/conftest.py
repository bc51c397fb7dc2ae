"""What holds for all tests."""

import signal

from hypothesis import settings

# How long an example takes says more about the machine than about the code.
settings.register_profile("scoter", deadline=None)
settings.load_profile("scoter")

# A shell lets what it starts in the background ignore Ctrl-C, and all that is started by that, too.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
