#pragma once
#include "schema/value.h"

namespace porthole::winhost {

/// `linux.seccomp` of a container's config.json: system calls that Wine and ordinary programs make are allowed, all others fail with EPERM.
/// Not allowed are: mounting, namespaces, keyrings, modules, BPF, io_uring, userfaultfd, performance counters, clocks, raw devices.
schema::Value seccomp_profile();

}  // namespace porthole::winhost
