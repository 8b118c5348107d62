"""Stops a process as SIGSTOP does, until it continues."""

from __future__ import annotations

import os
import signal


def stop_process(pid: int) -> None:
    """Stop a child process by SIGSTOP; return when no thread of it runs any more.

    Without the wait they would run on until the one that the system chose takes the signal: on a
    busy machine a paused slave has still acknowledged a message.
    """
    os.kill(pid, signal.SIGSTOP)
    os.waitid(os.P_PID, pid, os.WSTOPPED)
