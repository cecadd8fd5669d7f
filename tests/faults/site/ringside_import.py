"""A kind of bots whose import fails as the environment says: everywhere, or only in a worker."""

import ctypes
import multiprocessing
import os
import signal
import time

from engine.plain import plain_kind

FAULTS = {
    "exit": lambda: os._exit(3),
    "crash": lambda: ctypes.string_at(0),
    "kill": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "hang": lambda: time.sleep(3600),
}
FAULT = os.environ.get("RINGSIDE_IMPORT_FAULT", "")
IN_WORKER = multiprocessing.parent_process() is not None

if FAULT == "raise" or (FAULT == "raise in worker" and IN_WORKER):
    raise RuntimeError("not \ud800 here")
if FAULT in FAULTS and IN_WORKER:
    FAULTS[FAULT]()


class Bot:
    def __init__(self, payload):
        pass

    def act(self, view):
        return view.pick(3)


PLAIN = plain_kind("import-fault", 1, Bot, ["pong"], {"Importable": b""})
