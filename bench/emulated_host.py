"""What an emulated Windows host consists of: its control groups, its processes, and what these have taken so far."""

import contextlib
import os
import pathlib
import re

CGROUPS = pathlib.Path("/sys/fs/cgroup")
TICKS = os.sysconf("SC_CLK_TCK")


def memory(pid):
    """Bytes of PSS, where shared pages count by their share, and of the part of it that is in no file."""
    try:
        text = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return {"Pss": 0, "Pss_Anon": 0}
    return {key: int(re.search(rf"^{key}:\s+(\d+)", text, re.MULTILINE).group(1)) * 1024 for key in ("Pss", "Pss_Anon")}


def processor_seconds(stat):
    """Of a process with its ended children, or of a thread, by its file in /proc; 0 where it has ended."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        fields = pathlib.Path(stat).read_text().rpartition(")")[2].split()
        return sum(int(ticks) for ticks in fields[11:15]) / TICKS
    return 0.0


def processor_wait_seconds(pid):
    """How long the threads of a process, those that have not ended, were ready to run and had no processor."""
    seconds = 0.0
    for file in pathlib.Path(f"/proc/{pid}/task").glob("*/schedstat"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            seconds += int(file.read_text().split()[1]) / 1e9
    return seconds


def processes_below(folder):
    return [int(pid) for file in folder.rglob("cgroup.procs") for pid in file.read_text().split()]


def name_of(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
    except FileNotFoundError:
        return ""


def control_groups(cluster):
    """Those of the host's own container and of its pods; other clusters of the machine may have a host of that name."""
    base = CGROUPS / "memory" if (CGROUPS / "memory").exists() else CGROUPS
    network = lambda pid: os.readlink(f"/proc/{pid}/ns/net")
    own = network(cluster.processes()["windows-1/winhost"])
    for host in (base / "porthole-winhost").glob("windows-1-*-host"):
        if any(network(pid) == own for pid in processes_below(host)[:1]):
            return host, host.with_name(host.name.removesuffix("-host"))
    raise AssertionError("no host runs")
