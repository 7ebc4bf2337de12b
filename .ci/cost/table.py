#!/usr/bin/env python3
"""Computes docs/cost.md's table of a month: from what the end-to-end rig measured, list prices, and what the templates make.

    table.py PAGE [--check]

The table stands between two comments of the page. With --check nothing is written, and a table that is stale is an error.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / ".ci/template"))

import read  # noqa: E402

MINUTES = 43_800
NODES = (10, 500, 5_000)

# Dollars, us-east-1, November 2026: pages on pricing of Lambda, DynamoDB, SQS and CloudWatch.
GB_SECOND = 0.0000133334
LAMBDA_REQUEST = 0.20e-6
WRITE, READ = 0.625e-6, 0.125e-6
SQS_REQUEST = 0.40e-6
METRIC, ALARM = 0.30, 0.10

GB, WATCHER_GB = 0.5, 0.125
# Seconds of a warm run in which nothing happens, with 0.29 CPU: see the page's "Measured".
PROVISIONING, LIFECYCLE, DISRUPTION = (0.23, 2.0, 6.0), (0.34, 0.59, 5.0), (0.25, 2.0, 5.0)
# The watcher stays for so long of each minute.
STAYS = 57.0
# What is remembered of spot: one query a run, strongly consistent, of 4 KB with up to 40 offerings.
SPOT_READS = 1
# Of a minute's calls to DynamoDB in an idle hour, all functions together, without demand checks and what the next two lines count.
WRITES, READS = 8.6, 16
# Strongly consistent reads that one claim takes: 2.65 KB of the table, in units of 4 KB.
READS_A_CLAIM = 2 / 3
# Leases and announcements of writes, which every run reads: below 4 KB.
ANNOUNCEMENT_READS = 1
# How often a function reads all claims in a minute in which nobody writes one: every 20 minutes (`CLAIMS_TTL`), and in each
# process that starts cold, of which one in two hours is assumed.
CLAIM_LISTS = 1 / 20 + 1 / 120
CHECKS, CHECK_SECONDS = 12, 0.049
# Messages are sent for a minute at once, in batches of ten at most; each is received and deleted. Beginning a series is a write.
BATCHES, SERIES_WRITES = 2, 1
RECEIVED = 2
# Lambda polls a queue with five pollers, each waiting for 20 s.
POLLS = 5 * 3
CATALOG = 0.06


def lambda_seconds(seconds, memory=GB):
    return seconds * memory * GB_SECOND * MINUTES


def alarms(detail):
    """What alarms come to: each counts as often as it has metrics."""
    count = 0
    for path in ("template.yaml", "infra/cluster.yaml"):
        for own in read.template((ROOT / path).read_text())["Resources"].values():
            if own["Type"] != "AWS::CloudWatch::Alarm":
                continue
            if own.get("Condition") == "HasAllMetrics" and detail != "all":
                continue
            count += sum("MetricStat" in one for one in own["Properties"].get("Metrics", [])) or 1
    return count


def essential():
    """Metrics that have a figure in every hour."""
    code = (ROOT / "shared/lambda/src/metrics.rs").read_text()
    names = re.findall(r'"(\w+)"', code.split("const ESSENTIAL:")[1].split("];")[0])
    return len(names)


def queues(mode):
    """Queues that Lambda polls."""
    functions = read.template((ROOT / "template.yaml").read_text())["Resources"].values()
    events = [event for own in functions for event in own["Properties"].get("Events", {}).values()]
    asked = [event["Properties"] for event in events if event["Type"] == "SQS"]
    return sum(mode != "poll" or "Enabled" not in own for own in asked)


def month(mode):
    """Rows of the table in dollars, by title."""
    rows = {}

    def row(title, figures):
        rows[title] = tuple(figures)

    each = range(len(NODES))
    checks = CHECKS if mode == "tick" else 0
    watchers = 1 if mode == "watch" else 0
    row(
        "Lambda, time",
        (
            lambda_seconds(watchers * STAYS, WATCHER_GB)
            + lambda_seconds(PROVISIONING[i] + LIFECYCLE[i] + DISRUPTION[i] + checks * CHECK_SECONDS) + CATALOG
            for i in each
        ),
    )
    row("Lambda, requests", (LAMBDA_REQUEST * MINUTES * (3 + watchers + checks) for _ in each))
    row(
        "DynamoDB, leases and small reads",
        (
            MINUTES * (WRITE * (WRITES + (SERIES_WRITES if checks else 0)) + READ * (READS + checks))
            for _ in each
        ),
    )
    row(
        "DynamoDB, claims, and whether one was written",
        (
            MINUTES * READ * (ANNOUNCEMENT_READS * 3 + READS_A_CLAIM * NODES[i] * 3 * CLAIM_LISTS)
            for i in each
        ),
    )
    row(
        "DynamoDB, what is remembered of spot",
        (MINUTES * READ * SPOT_READS * 3 for _ in each),
    )
    messages = BATCHES + RECEIVED * checks if checks else 0
    row("SQS, messages", (MINUTES * SQS_REQUEST * messages for _ in each))
    row("SQS, Lambda's polling", (MINUTES * SQS_REQUEST * POLLS * queues(mode) for _ in each))
    row(f"{essential()} metrics that always have a figure", (METRIC * essential() for _ in each))
    row(f"{alarms('essential')} alarms", (ALARM * alarms("essential") for _ in each))
    return rows


def dollars(value):
    return f"${value:.2f}"


def table():
    lines = ["| | mode | " + " | ".join(f"{nodes:,} nodes" for nodes in NODES) + " |", "| --- | --- | --- | --- | --- |"]
    months = {mode: month(mode) for mode in ("tick", "watch", "poll")}
    for title in months["tick"]:
        alike = {}
        for mode, rows in months.items():
            alike.setdefault(tuple(map(dollars, rows[title])), []).append(mode)
        for figures, modes in alike.items():
            which = "all" if len(modes) == len(months) else ", ".join(f"`{mode}`" for mode in modes)
            lines.append(f"| {title} | {which} | {' | '.join(figures)} |")
    for mode, rows in months.items():
        sums = [dollars(sum(row[i] for row in rows.values())) for i in range(len(NODES))]
        lines.append(f"| **all** | **`{mode}`** | " + " | ".join(f"**{own}**" for own in sums) + " |")
    return lines


def main():
    page = Path(sys.argv[1])
    begin, end = "<!-- made by .ci/cost/table.py -->", "<!-- until here -->"
    text = page.read_text()
    before, rest = text.split(begin)
    _, after = rest.split(end)
    made = before + begin + "\n" + "\n".join(table()) + "\n" + end + after
    if "--check" not in sys.argv:
        page.write_text(made)
    elif made != text:
        sys.exit(f"{page}: the table of a month is stale: run {Path(__file__).name} {page}")


if __name__ == "__main__":
    main()
