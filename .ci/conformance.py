#!/usr/bin/env python3
"""Asks the outside judge for all scenarios, and holds its answer against the failures that are expected.

    conformance.py JUDGE BINARY EXPECTED

JUDGE is check.py of the conformance folder; EXPECTED lists scenarios that do not hold, one a line with the reason after
a colon. Exit status 1 where a scenario that is not listed fails, and where a listed one holds or is not there: the list
is never longer than what is missing.
"""
import json
import pathlib
import subprocess
import sys


def expected_failures(path: pathlib.Path) -> dict[str, str]:
    """Names and reasons; lines that begin with `#` are comments."""
    lines = [line.strip() for line in path.read_text().splitlines()]
    entries = [line.partition(":") for line in lines if line and not line.startswith("#")]
    return {name.strip(): reason.strip() for name, _, reason in entries}


def main() -> int:
    judge, binary, expected = sys.argv[1:]
    asked = subprocess.run(
        [sys.executable, judge, "--bin", binary, "--json"], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL
    )
    try:
        scenarios = {one["name"]: one for one in json.loads(asked.stdout)["scenarios"]}
    except (ValueError, KeyError):
        print(f"the judge gave no answer, and ended with status {asked.returncode}")
        return 1
    expected = expected_failures(pathlib.Path(expected))
    failing = {name for name, one in scenarios.items() if not one["holds"]}
    wrong = False
    for name in sorted(failing | set(expected)):
        if name not in scenarios:
            wrong = True
            print(f"{name}: expected to fail, and there is no such scenario")
        elif name not in failing:
            wrong = True
            print(f"{name}: holds now; take it off the list of expected failures")
        elif name in expected:
            print(f"{name}: fails as expected: {expected[name]}")
        else:
            wrong = True
            print(f"{name}: FAILS: {'; '.join(scenarios[name]['reasons'])}")
    print(f"conformance: {len(scenarios) - len(failing)} of {len(scenarios)} hold")
    return 1 if wrong or not scenarios else 0


if __name__ == "__main__":
    sys.exit(main())
