"""What is done to machines, a function each and a line in FAULTS. Each is a context in which the fault holds, which gives the names of the
machines whose servers may be without an answer meanwhile; afterwards all must answer again. `random` chooses the victims."""

import contextlib
import os
import signal

from machines import eventually

NAMES = {"a", "b", "c"}
LARGE_VALUES = 40  # of a megabyte; bbolt's file grows in steps of 16


def of_one(fault):
    """A fault of one machine, which is chosen."""
    @contextlib.contextmanager
    def on_any(machines, random):
        victim = random.choice(machines.all)
        with fault(victim, random):
            yield {victim.name}

    on_any.__name__ = fault.__name__
    return on_any


def killed(*what):
    @contextlib.contextmanager
    def kill(victim, random):
        victim.kill(*what)
        try:
            yield
        finally:
            victim.restart_what_ended()

    return kill


def paused(*what):
    @contextlib.contextmanager
    def pause(victim, random):
        victim.signal(signal.SIGSTOP, *what)
        try:
            yield
        finally:
            victim.signal(signal.SIGCONT, *what)

    return pause


@contextlib.contextmanager
def cut_off(victim, random):
    """From both others, in both directions: what it sends is answered, and the answers do not come."""
    with victim.filtered(victim.from_others("drop")):
        yield


@contextlib.contextmanager
def reached_by_nothing(victim, random):
    """Not by clients either: what is sent to it gets neither an answer nor a refusal."""
    with victim.filtered('iif "eth0" drop'):
        yield


@contextlib.contextmanager
def deaf_for_new_connections(victim, random):
    """Others reach it no more, while it reaches them."""
    with victim.filtered(victim.from_others("ct state new drop")):
        yield


@contextlib.contextmanager
def lossy(victim, random):
    with victim.filtered(victim.from_others("numgen random mod 100 < 30 drop")):
        yield


@contextlib.contextmanager
def cut_between_two(machines, random):
    """Two do not see each other, and the third sees both: no server is without a majority of etcd."""
    one, other = random.sample(machines.all, 2)
    with one.filtered(one.from_others("drop", [other.name])):
        yield {one.name, other.name}


@contextlib.contextmanager
def full_disk(machines, random):
    """etcd ends itself when it cannot write; what fits into the files that it has already is made to be too little."""
    victim = random.choice(machines.all)
    ballast = victim.disk / "ballast"
    free = os.statvfs(victim.disk)
    with contextlib.suppress(OSError), open(ballast, "wb", buffering=0) as file:
        os.posix_fallocate(file.fileno(), 0, free.f_bavail * free.f_frsize)
        while True:
            file.write(bytes(free.f_frsize))
    for number in range(LARGE_VALUES):
        if not victim.has_ended("etcd"):
            machines.etcdctl("put", f"ballast-{number}", stdin="x" * 1_000_000, check=False)
    eventually(lambda: victim.has_ended("etcd"), 20, f"etcd of machine {victim.name} ends on its full disk")
    yield {victim.name}
    ballast.unlink()
    victim.restart_what_ended()
    machines.etcdctl("del", "--prefix", "ballast-")


@contextlib.contextmanager
def slow_disk(victim, random):
    with victim.limited_writes(per_second=8):
        yield


def other_clock(seconds):
    @contextlib.contextmanager
    def skew(victim, random):
        victim.kill("server")
        victim.start_server(clock=seconds)
        yield
        victim.kill("server")
        victim.start_server()

    return skew


@contextlib.contextmanager
def no_majority(machines, random):
    for victim in random.sample(machines.all, 2):
        victim.kill("etcd")
    yield NAMES
    for machine in machines.all:
        machine.restart_what_ended()


@contextlib.contextmanager
def all_lost(machines, random):
    """As when the power of all fails, but for what the kernel still writes."""
    for machine in machines.all:
        machine.kill()
    yield NAMES
    for machine in machines.all:
        machine.restart_what_ended()


@contextlib.contextmanager
def compacted(machines, random):
    """Everything that watches might go on from is forgotten."""
    revision = machines.etcdctl("get", "none", "-w", "fields").split('"Revision" : ')[1].split()[0]
    machines.etcdctl("compact", revision)
    yield set()


FAULTS = {
    "a server killed": of_one(killed("server")),
    "a member of etcd killed": of_one(killed("etcd")),
    "a machine lost": of_one(killed()),
    "a server paused": of_one(paused("server")),
    "a member of etcd paused": of_one(paused("etcd")),
    "a machine paused": of_one(paused()),
    "a machine cut off": of_one(cut_off),
    "a machine that nothing reaches": of_one(reached_by_nothing),
    "a machine without new connections to it": of_one(deaf_for_new_connections),
    "30 % of a machine's packets lost": of_one(lossy),
    "two machines without each other": cut_between_two,
    "a full disk": full_disk,
    "a slow disk": of_one(slow_disk),
    "a server's clock 90 s ahead": of_one(other_clock(90)),
    "a server's clock 90 s behind": of_one(other_clock(-90)),
    "etcd without a majority": no_majority,
    "all machines lost": all_lost,
    "etcd compacted": compacted,
}
