#!/usr/bin/env python3
"""Asks the outside judge (validity.py) about many plans in one process.

    agree.py JUDGE_FOLDER

Standard input: one JSON object a line, {"scenario": FILE, "plans": [PLAN, …]}. Standard output: one JSON list a
line, in the same order: for each plan the rules that it breaks, each once, sorted. Exit status 3 with one line on standard error when the judge or PyYAML is not there.
"""
import json
import pathlib
import sys


def main() -> int:
    folder = pathlib.Path(sys.argv[1]).resolve()
    sys.path.insert(0, str(folder))
    sys.dont_write_bytecode = True
    try:
        import yaml  # noqa: F401  (the judge needs it only once it reads)
        import kubemodel
        import validity
        from cluster import Cluster
    except ImportError as error:
        print(f"the outside judge cannot be used: {error}", file=sys.stderr)
        return 3

    catalogues: dict = {}

    def catalogue_of(scenario: dict):
        name = scenario["catalog"]
        if not isinstance(name, str):
            return kubemodel.Catalogue(name)
        if name not in catalogues:
            catalogues[name] = kubemodel.Catalogue(kubemodel.load_documents(folder / "catalogs" / f"{name}.json")[0])
        return catalogues[name]

    for line in sys.stdin:
        question = json.loads(line)
        scenario = kubemodel.load_documents(question["scenario"])[0]
        now = str(scenario.get("now") or "2026-01-01T12:00:00Z")
        cluster = Cluster(scenario["objects"], catalogue_of(scenario), now)
        answer = [sorted({violation.rule for violation in validity.judge(cluster, plan)}) for plan in question["plans"]]
        print(json.dumps(answer), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
