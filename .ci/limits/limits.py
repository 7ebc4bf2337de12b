#!/usr/bin/env python3
"""Runs a command several times and holds its best time and its largest memory against limits.

    limits.py --runs N --pause SECONDS --milliseconds LIMIT --mebibytes LIMIT -- COMMAND…

The best time counts, since other work on the machine only ever makes a run slower, and that work comes and goes: hence
the pauses between runs. The largest memory counts, since nothing makes that smaller. Exit status 1 when a limit is
exceeded or the command fails.
"""
import argparse
import os
import subprocess
import sys
import time


def measured(command: list[str]) -> tuple[float, float]:
    """Milliseconds of wall clock and mebibytes of peak resident memory of one run."""
    started = time.monotonic()
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    milliseconds = (time.monotonic() - started) * 1000
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"error: {command[0]} ended with status {process.returncode}")
    return milliseconds, usage.ru_maxrss / 1024  # kibibytes, on Linux


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, required=True)
    parser.add_argument("--pause", type=float, default=0, help="seconds after each run")
    parser.add_argument("--milliseconds", type=float, required=True)
    parser.add_argument("--mebibytes", type=float, required=True)
    parser.add_argument("command", nargs="+")
    arguments = parser.parse_args()
    runs = []
    for _ in range(arguments.runs):
        runs.append(measured(arguments.command))
        time.sleep(arguments.pause)
    best, peak = min(own for own, _ in runs), max(memory for _, memory in runs)
    print(f"best of {len(runs)}: {best:.1f} ms (at most {arguments.milliseconds:g}), "
          f"peak memory {peak:.1f} MiB (at most {arguments.mebibytes:g})")
    return 0 if best <= arguments.milliseconds and peak <= arguments.mebibytes else 1


if __name__ == "__main__":
    sys.exit(main())
