"""Stands between moot and a command-line program: if moot is gone, so is the program.

Run as a script, in a session of its own: `python program_child.py FD PROGRAM ARGUMENT…`. It starts
the program in its own process group, and kills the whole group when FD, of which moot holds the
other end, is closed.
"""

import os
import signal
import sys
import threading


def main() -> int:
    lifeline, command = int(sys.argv[1]), sys.argv[2:]
    os.set_inheritable(lifeline, False)

    def watch() -> None:
        os.read(lifeline, 1)
        os.killpg(0, signal.SIGKILL)

    try:
        child = os.posix_spawn(command[0], command, os.environ)
    except OSError:
        return 127
    threading.Thread(target=watch, daemon=True).start()
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main())
