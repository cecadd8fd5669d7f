"""A USI engine that plays a few moves by heart and has one fault, named by its first argument."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

FAULT = sys.argv[1] if len(sys.argv) > 1 else "none"
MOVES = ("2g2f", "2f2e", "9g9f", "1g1f")  # Black's, whatever White does
OPTIONS = (
    "option name USI_Hash type spin default 16 min 1 max 1024",
    "option name Threads type spin default 4 min 1 max 8",
    "option name Book File type filename default <empty>",
    "option name Style type combo default calm var calm var very wild",
    "option name Resign Early type check default false",
    "option name ClearHash type button",
    "option name Broken type spin default x min y max z",
)


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def flood(number: int) -> None:
    while True:
        os.write(number, b"x" * 4096)


def linger() -> None:
    """Writes the ids of its processes to a file: itself, a child, and a child in a session of its own."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sleep = [sys.executable, "-I", "-S", "-c", "import time; time.sleep(600)"]
    pids = [os.getpid()]
    pids += [subprocess.Popen(sleep, start_new_session=own).pid for own in (False, True)]
    with open(sys.argv[2], "a") as file:
        file.write(f"{' '.join(map(str, pids))}\n")


def start() -> None:
    if FAULT == "refuses":
        say("I play checkers")
        sys.exit(3)
    if FAULT == "silent":
        time.sleep(600)
    if FAULT == "floods-at-start":
        flood(1)
    if FAULT == "endless-lines":
        while True:
            say("option name more type check default false")
    if FAULT == "lingers":
        linger()


def go() -> str | None:
    if FAULT == "crashes":
        sys.stderr.write("boom: out of ideas\n")
        sys.stderr.flush()
        os.kill(os.getpid(), signal.SIGSEGV)
    if FAULT == "exits":
        sys.exit(5)
    if FAULT == "floods-output":
        flood(1)
    if FAULT == "floods-errors":
        flood(2)
    if FAULT in ("stalls", "lingers"):
        say("info string let me see\x07")
        return None
    known = {"resigns": "resign", "declares": "win", "cheats": "5i5a", "babbles": "rubbish", "mumbles": ""}
    return known.get(FAULT)


def main() -> None:
    start()
    played = 0
    for line in sys.stdin:
        words = line.split()
        if words[0] == "usi":
            say("id name Faulty 1.0")
            say("id author Test Author")
            for option in OPTIONS:
                say(option)
            say("usiok")
        elif words[0] == "isready":
            if FAULT != "never-ready":
                say("readyok")
            if FAULT == "deaf":
                time.sleep(600)
        elif words[0] == "usinewgame":
            played = played if FAULT == "remembers" else 0
        elif words[0] == "go":
            if FAULT in ("stalls", "lingers"):
                go()
                continue
            answer = go()
            if answer is None:
                answer = MOVES[played]
                played += 1
            say(f"bestmove {answer}" + "\nbestmove 9g9f" * (FAULT == "stutters"))
            if FAULT == "leaves-once" and not os.path.exists(sys.argv[2]):
                open(sys.argv[2], "w").close()
                sys.exit(1)
        elif words[0] == "quit":
            return


if __name__ == "__main__":
    main()
