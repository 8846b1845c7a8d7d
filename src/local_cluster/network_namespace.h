#pragma once
#include <cstdint>

#include "base/result.h"

namespace porthole::local_cluster {

/// The number by which the kernel knows this process's network namespace; 0 where that cannot be said.
std::uint64_t own_network_namespace();

/// Brings the calling thread, and what it starts, into the network namespace of that number, found by a name below /run/netns or by
/// a process that is in it. Does nothing where neither is left: then the namespace is gone, with all that was in it. Nor for 0.
/// Error: Io.
Result<void> enter_network_namespace(std::uint64_t number);

}  // namespace porthole::local_cluster
