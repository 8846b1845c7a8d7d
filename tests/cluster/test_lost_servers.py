"""Three servers on three members of etcd, and a node that knows them all. One server is killed, stands still or is cut off, or two do not reach
each other, while clients of all of them follow logs, run commands, watch, wait for a rollout and write.

A test takes the server that the node uses; with PORTHOLE_LOST_SERVERS=all each of the three in turn."""

import os
import random
import time
import unittest

from harness import eventually, needs_newest_kubectl, slow
from three_servers_case import BUSY, CHANGED, ThreeServersCase

from faults import cut_off, killed, paused, reached_by_nothing  # of the path that three_servers_case adds

HELD = 20  # seconds for which a fault holds on: a leader's lease ends meanwhile
ALL = os.environ.get("PORTHOLE_LOST_SERVERS") == "all"


@unittest.skipUnless(os.geteuid() == 0, "network namespaces need root")
@needs_newest_kubectl
class LostServers(ThreeServersCase):
    def each(self, check):
        """The server that the node uses, or each of the three."""
        for machine in self.machines.all if ALL else [self.used_by_the_node()]:
            with self.subTest(lost=machine.name):
                check(machine)
                eventually(lambda: all(self.is_ready(one) for one in self.machines.all), 60, "all servers are ready again")
                eventually(lambda: all(state.startswith("ready") for state in self.node.known_servers().values()), 60, "and the node knows")

    def lose(self, fault):
        self.each(lambda machine: self.lose_one(fault, machine))

    def lose_one(self, fault, lost):
        round_name = f"{fault.__name__.replace('_', '-')}-{lost.name}"
        others = [self.direct[machine.name] for machine in self.machines.all if machine is not lost]
        is_used = self.used_by_the_node() is lost
        clients = self.clients([*others, self.balanced], round_name)
        through_others, through_node = (clients[:2], clients[2]) if is_used else (clients, None)
        for one in through_others:
            one.follow_rollout()
        self.roll(others[0], round_name)
        with fault(lost, random):
            begin = time.monotonic()
            if is_used:
                self.works_again_by_the_balancer(through_node, begin, lost)
            time.sleep(max(0, begin + HELD - time.monotonic()))
            self.streams_go_on(through_others, begin)
        for one in through_others:
            eventually(lambda: one.rollout.ended_at, 120, f"the rollout ends: {one.rollout.texts()[-3:]}")
            self.assertEqual(one.rollout.process.returncode, 0, one.rollout.texts())
        self.nothing_is_lost(clients, others)
        for one in clients:
            one.end()

    def works_again_by_the_balancer(self, through_node, begin, lost):
        """What went through the lost server ends with an error, and everything is answered again."""
        eventually(lambda: self.node.in_use() != self.url(lost), CHANGED, "the node uses another server", interval=0.02)
        changed = time.monotonic() - begin
        took = {}
        for name, again in {"logs -f": ("logs", "talker", "--tail=1"), "exec": ("exec", "talker", "--", "echo", "again")}.items():
            eventually(lambda: self.balanced.kubectl(*again, check=False).returncode == 0, CHANGED, f"{name} is answered again")
            took[name] = time.monotonic() - begin
            stream = through_node.streams[name]
            eventually(lambda: stream.ended_at, CHANGED, f"{name} through the lost server ends")
            self.assertNotEqual(stream.process.returncode, 0, stream.texts()[-3:])
            took[name + " ended"] = stream.ended_at - begin
        eventually(lambda: through_node.writer.longest_gap(time.monotonic() - 1, "acknowledged ") < 1, CHANGED, "writes are acknowledged again")
        took["writes"] = through_node.writer.longest_gap(begin, "acknowledged ")
        print(f"  {lost.name} lost: changed over in {changed:.1f} s; " + ", ".join(f"{name} {seconds:.1f} s" for name, seconds in took.items()), flush=True)
        self.assertLess(took["writes"], CHANGED * BUSY)

    # --- the faults

    # API-14
    @slow
    def test_one_is_killed(self):
        self.lose(killed("server"))

    # API-14
    @slow
    def test_one_stands_still(self):
        self.lose(paused("server"))

    # API-14
    @slow
    def test_one_is_cut_off_from_the_others_and_their_etcds(self):
        self.lose(cut_off)

    # API-14
    @slow
    def test_one_is_reached_by_nothing(self):
        self.lose(reached_by_nothing)

    # API-14
    @slow
    def test_two_do_not_reach_each_other(self):
        for one in self.machines.all if ALL else self.machines.all[:1]:
            other = self.machines.all[(self.machines.all.index(one) + 1) % 3]
            with self.subTest(pair=one.name + other.name):
                self.lose_a_pair(one, other)

    def lose_a_pair(self, one, other):
        round_name = f"pair-{one.name}-{other.name}"
        clients = self.clients([*self.direct.values(), self.balanced], round_name)
        for each in clients:
            each.follow_rollout()
        self.roll(self.direct["a"], round_name)
        with one.filtered(one.from_others("drop", [other.name])):
            begin = time.monotonic()
            time.sleep(HELD)
            self.streams_go_on(clients, begin)
        for each in clients:
            eventually(lambda: each.rollout.ended_at, 120, f"the rollout ends: {each.rollout.texts()[-3:]}")
            self.assertEqual(each.rollout.process.returncode, 0, each.rollout.texts())
        self.nothing_is_lost(clients, list(self.direct.values()))
        for each in clients:
            each.end()


if __name__ == "__main__":
    unittest.main()
