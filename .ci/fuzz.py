#!/usr/bin/env python3
"""Plans random clusters, and holds the plans against an outside judge and an outside planner that is simple.

    fuzz.py FOLDER BINARY EXPECTED [--first 0] [--seeds 200]

FOLDER holds fuzz_plan.py, which makes the clusters. No plan may break a rule, and none may differ from one run to the next;
where a plan breaks a rule, BINARY itself ends with status 1. Of two ways in which pods can be missed, the larger counts:
pods that the plan as it is has a place for, and how many more pods than the plan the simple planner places. That one keeps
room on nodes for the DaemonSets that will run there, as the binary does. Places that only the binary seeks, for the
successors of pods on nodes that go, count like all others. EXPECTED lists seeds and how many pods they miss, one a line
(`SEED PODS: REASON`). Exit status 1 where a problem is found, and where a seed misses another number of pods than is
listed: the list is never longer than what is missing.
"""
import argparse
import copy
import itertools
import json
import multiprocessing
import pathlib
import sys


def planner(moving: set):
    """The simple planner, with room kept on nodes for DaemonSets whose pods are not there yet.

    Pods that the plan moves off nodes that go (`moving`) wait like all others, and count where they go only. A label
    that a NodePool leaves open gets a value that others name, if any: Karpenter knows no domain that nobody names.
    """
    import naive_planner

    class Planner(naive_planner.Naive):
        def launchable(self, pool, pod):
            def named(labels):
                choices = [self.named(key) if value == "any" else [value] for key, value in labels.items()]
                return [dict(zip(labels, values)) for values in itertools.product(*choices)]

            return [(price, name, labels, kind) for price, name, own, kind in super().launchable(pool, pod) for labels in named(own)]

        def named(self, key: str) -> list[str]:
            """Values of a label that nodes and NodePools name."""
            values = {spot.labels[key] for spot in self.spots if key in spot.labels}
            for pool in self.pools:
                rules = [own for own in pool["spec"]["template"]["spec"].get("requirements") or [] if own["key"] == key]
                values |= {value for own in rules if own["operator"] == "In" for value in own["values"]}
            return sorted(values) or ["any"]

        def read_nodes(self):
            super().read_nodes()
            for spot in self.spots:
                if "kubernetes.io/hostname" in spot.labels:
                    here = {owner["name"] for pod in spot.pods for owner in pod.obj["metadata"].get("ownerReferences") or []}
                    keep_room(self, spot, here)
                self.pending += [pod for pod in spot.pods if pod.key in moving]
                spot.pods = [pod for pod in spot.pods if pod.key not in moving]

        def place(self, plan: dict):
            """Puts pods where a plan has them."""
            self.new = []
            self.every = self.pending + [pod for spot in self.spots for pod in spot.pods]
            pods = {pod.key: pod for pod in map(naive_planner.PodView, self.bound)}
            pods |= {pod.key: pod for pod in self.pending}
            spots = {spot.name: spot for spot in self.spots}
            for name in (name for disruption in plan["disruptions"] for name in disruption["nodes"]):
                spots[name].closed = True
            for placement in plan["placements"]:
                spots[placement["node"]].put(pods[placement["pod"]])
            for claim in plan["nodeClaims"]:
                self.spots.append(self.launched(claim))
                for key in claim["pods"]:
                    self.spots[-1].put(pods[key])
            # What disruption moves is planned last: it takes room and limits, and counts where it is now.
            for disruption in plan["disruptions"]:
                for claim in disruption["replacements"]:
                    self.launched(claim)
                for move in disruption.get("moves") or []:
                    take(spots[move["node"]], pods[move["pod"]])

        def launched(self, claim: dict):
            """A claim on the offering that it is planned for; the most that it may turn out to be counts for limits."""
            types = {kind["name"]: kind for kind in self.catalogue["instanceTypes"]}
            offering, kind = claim["offering"], types[claim["offering"]["instanceType"]]
            labels = {key: value[0] if isinstance(value, list) else value for key, value in (kind.get("labels") or {}).items()}
            labels |= {naive_planner.TYPE: kind["name"], naive_planner.ARCH: kind["architecture"], naive_planner.OS: "linux"}
            labels |= claim["labels"] | {naive_planner.ZONE: offering["zone"], naive_planner.CT: offering["capacityType"]}
            room = naive_planner.amounts(kind["allocatable"])
            spot = naive_planner.Spot(claim["name"], labels, claim.get("taints") or [], room, False)
            keep_room(self, spot, set())
            most: dict = {}
            for name in claim["instanceTypes"]:
                most = naive_planner.most(most, naive_planner.amounts(types[name]["capacity"]))
            self.charge(claim["nodePool"], most)
            return spot

    def take(spot, pod):
        spot.room = {name: amount - pod.need.get(name, 0) for name, amount in spot.room.items()}
        spot.ports += pod.ports

    def keep_room(naive, spot, here: set):
        for daemon in naive.daemons_on(spot):
            if daemon.key.partition("/")[2] not in here:
                take(spot, daemon)

    return Planner


def try_seed(task) -> tuple[int, list[str], int]:
    """The seed, the problems of its plan, and how many pods it misses."""
    seed, binary = task
    import check
    import cluster
    import fuzz_plan
    import validity

    objects, name = fuzz_plan.make(seed)
    catalogue = fuzz_plan.load_catalogue(name)
    (output, reason), (again, _) = (
        check.run_binary(binary, objects, fuzz_plan.catalogue_path(name), fuzz_plan.NOW) for _ in range(2)
    )
    if reason:
        return seed, [reason], 0
    plan = json.loads(output)
    problems = [] if output == again else ["two runs print different plans"]
    problems += map(str, validity.judge(cluster.Cluster(objects, catalogue, fuzz_plan.NOW), plan))
    if not plan["unschedulable"]:
        return seed, problems, 0
    named = [own["pod"] for own in plan["placements"] + plan["unschedulable"]]
    bound = {f"{own['metadata'].get('namespace') or 'default'}/{own['metadata']['name']}" for own in objects if own["kind"] == "Pod" and own["spec"].get("nodeName")}
    simple = planner(bound.intersection(named + [pod for claim in plan["nodeClaims"] for pod in claim["pods"]]))
    around = simple(copy.deepcopy(objects), catalogue, True)
    around.place(plan)
    left = {own["pod"] for own in plan["unschedulable"]}
    fitting = 0
    for pod in (pod for pod in around.pending if pod.key in left):
        spot = next((spot for spot in around.spots if around.takes(spot, pod)), None)
        if spot:
            spot.put(pod)
        fitting += bool(spot) or around.launch(pod)
    others = simple(copy.deepcopy(objects), catalogue, True)
    placed_by_others = len(others.pending) - len(others.plan()["unschedulable"])
    placed = len(plan["placements"]) + sum(len(claim["pods"]) for claim in plan["nodeClaims"])
    return seed, problems, max(fitting, placed_by_others - placed)


def expected_misses(path: pathlib.Path) -> dict[int, tuple[int, str]]:
    """By seed, how many pods and why; lines that begin with `#` are comments."""
    lines = [line.strip() for line in path.read_text().splitlines()]
    entries = [line.partition(":") for line in lines if line and not line.startswith("#")]
    return {int(own.split()[0]): (int(own.split()[1]), reason.strip()) for own, _, reason in entries}


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("binary", type=pathlib.Path)
    parser.add_argument("expected", type=pathlib.Path)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seeds", type=int, default=200)
    arguments = parser.parse_args()
    folder = arguments.folder.resolve()
    sys.path[:0] = [str(folder), str(folder.parent / "conformance")]
    seeds = range(arguments.first, arguments.first + arguments.seeds)
    expected = {seed: own for seed, own in expected_misses(arguments.expected).items() if seed in seeds}
    binary = str(arguments.binary.resolve())
    with multiprocessing.Pool() as pool:
        tried = sorted(pool.imap_unordered(try_seed, [(seed, binary) for seed in seeds]))
    wrong = False
    for seed, problems, missed in tried:
        listed, why = expected.get(seed, (0, ""))
        for problem in problems:
            print(f"seed {seed}: {problem}")
        wrong |= bool(problems)
        if missed > listed:
            print(f"seed {seed}: misses {missed} pods, {listed} expected; fuzz_plan.py --write DIR --first {seed} --seeds 1")
        elif missed < listed:
            print(f"seed {seed}: misses {missed} pods, not {listed} any more: change the list")
        elif missed:
            print(f"seed {seed}: misses {missed} pods as expected: {why}")
        wrong |= missed != listed
    bad = sum(bool(problems) for _, problems, _ in tried)
    print(f"random clusters: {len(tried)}, of which {bad} with problems; {sum(own[2] for own in tried)} pods missed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
