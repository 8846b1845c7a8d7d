"""Programs that each do several checks with a client library: PROGRAM CHECK ends with 0, or says why not. Each check is one test."""

import re

from harness import IMAGE, ClusterCase, run


class LibraryCase(ClusterCase):
    """Its tests are those of add_tests()."""

    def check_with(self, *program):
        environment = {**self.cluster.environment(), "NAMESPACE": self.namespace, "IMAGE": IMAGE}
        run(self.cluster.network.inside([*program, self.check]), seconds=240, env=environment)

    def run_check(self):
        raise NotImplementedError


def add_tests(case, names):
    for name in names:
        def test(self, name=name):
            self.check = name
            self.run_check()
        setattr(case, "test_" + re.sub(r"\W", "_", name), test)
