"""Prints the clusters whose pods are to be scheduled, one a line, for the recorder: python3 -m scenarios (in tests/scheduler_decisions)."""

import json
import random

from . import between_pods, mixed, of_devices, of_nodes, of_preemption, of_resources, of_volumes

PARTS = [of_nodes, of_resources, between_pods, of_volumes, of_devices, of_preemption, mixed]


def main():
    for part in PARTS:
        for make in part.CLUSTERS:
            # By name, so that a new function changes no other cluster.
            for name, objects, pods in make(random.Random(make.__name__)):
                print(json.dumps({"cluster": name, "objects": objects, "pods": pods}, separators=(",", ":"), sort_keys=True))


if __name__ == "__main__":
    main()
