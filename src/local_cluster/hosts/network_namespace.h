#pragma once
#include <cstdint>

#include "base/result.h"

namespace porthole::local_cluster {

/// The kernel's number of this process's network namespace; 0 if unknown.
std::uint64_t own_network_namespace();

/// Moves the calling thread, and programs that it starts, into the network namespace of that number, found by a name below /run/netns or by
/// a process in it. No effect for 0, or if neither exists: then the namespace has ended, with everything in it. Error: Io.
Result<void> enter_network_namespace(std::uint64_t number);

}  // namespace porthole::local_cluster
