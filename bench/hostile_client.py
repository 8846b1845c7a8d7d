"""One of the floods of floods.py against the cluster of a kubeconfig, until it is ended: hostile_client.py KUBECONFIG FLOOD --token TOKEN."""

import argparse
import multiprocessing

import floods


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("kubeconfig")
    arguments.add_argument("flood", choices=[flood.__name__ for flood in floods.FLOODS])
    arguments.add_argument("--token", default="")
    options = arguments.parse_args()
    target = floods.Target(options.kubeconfig)
    target.token = options.token
    flood = floods.Flood(target, float("inf"), multiprocessing.Value("q", 0))
    getattr(floods, options.flood)(flood)


if __name__ == "__main__":
    main()
