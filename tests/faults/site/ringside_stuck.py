"""A worker that is stopped while it starts."""

import os
import signal


def work(end, *arguments):
    os.kill(os.getpid(), signal.SIGSTOP)
