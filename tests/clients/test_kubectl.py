"""kubectl of two versions between 1.20 and the newest, which tests/cluster has: the same tests, with their forms of watches, patches and streams."""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "cluster"))
import test_kubectl_verbs  # noqa: E402
import test_streams  # noqa: E402
from harness import CLIENTS, TOOLS, ClusterCase  # noqa: E402

CLIENTS.update({version: TOOLS / f"clients/kubectl-{version}/kubectl" for version in ("1.24", "1.30")})


class VerbsOfKubectl124(test_kubectl_verbs.Verbs, ClusterCase):
    client = "1.24"


class VerbsOfKubectl130(test_kubectl_verbs.Verbs, ClusterCase):
    client = "1.30"


class StreamsOfKubectl124(test_streams.Streams, ClusterCase):
    client = "1.24"


class StreamsOfKubectl130(test_streams.Streams, ClusterCase):
    client = "1.30"
