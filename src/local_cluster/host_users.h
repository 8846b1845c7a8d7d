#pragma once
#include <cstdint>
#include <string>

#include "base/result.h"

namespace porthole::local_cluster {

/// Who root of an emulated host and of its containers is on this machine, of 65536 ids that start there: by the name of the host's network
/// namespace, so that hosts rarely share them. The range from 1900544000 is one that systemd, subordinate ids (/etc/subuid) as
/// distributions give them, and directory services leave alone.
std::uint32_t root_of_host(const std::string& network_namespace);

/// Replaces the network namespace of that name below /run/netns, which is new and empty, by one of a user namespace with the host's users:
/// then all programs of the host run as them (winhost/bundle/container_users.h). Does nothing where the kernel or the file system of the
/// host's disk, which is in `data`, does not have what it needs: the host itself says so. Blocking. Error: Io.
Result<void> give_network_to_host(const std::string& network_namespace, const std::string& data);

}  // namespace porthole::local_cluster
