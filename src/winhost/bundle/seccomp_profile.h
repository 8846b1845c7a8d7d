#pragma once
#include "schema/value.h"

namespace porthole::winhost {

/// `linux.seccomp` of a container's config.json: system calls that Wine and ordinary programs make are allowed, all others fail with EPERM.
/// Not allowed are: mounting, namespaces, keyrings, modules, BPF, io_uring, userfaultfd, performance counters, clocks, raw devices.
/// `with_32_bit`: also for calls as processes of 32 bits make them. Wine makes one of that kind (set_thread_area) in processes of 64 bits
/// that run code of 32 bits; without it, Linux ends a process at any.
schema::Value seccomp_profile(bool with_32_bit);

}  // namespace porthole::winhost
