#pragma once
#include <cstdint>

#include "base/result.h"

namespace porthole::local_cluster {

/// The number by which the kernel knows this process's network namespace; 0 where that cannot be said.
std::uint64_t own_network_namespace();

/// Brings the calling thread, and what it starts, into the network namespace of that number, found by a name below /run/netns or by
/// a process that is in it. Does nothing for 0, nor where neither is left: then the namespace has ended, with all that was in it.
/// Error: Io.
Result<void> enter_network_namespace(std::uint64_t number);

}  // namespace porthole::local_cluster
