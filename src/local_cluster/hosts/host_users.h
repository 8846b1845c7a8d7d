#pragma once
#include <cstdint>
#include <string>

#include "base/result.h"

namespace porthole::local_cluster {

/// The uid of root of an emulated host and of its containers on this machine, the first of 65536 ids: derived from the name of the host's
/// network namespace, so that hosts rarely share them. The range from 1900544000 is not used by systemd, by distributions' subordinate ids
/// (/etc/subuid), or by directory services.
std::uint32_t root_of_host(const std::string& network_namespace);

/// Replaces the network namespace of that name below /run/netns, which is new and empty, by one owned by a user namespace with the host's
/// users: then all programs of the host run as them (winhost/bundle/container_users.h). No effect if the kernel or the file system of the
/// host's disk, which is in `data`, does not support it: the host itself reports that. Blocking. Error: Io.
Result<void> give_network_to_host(const std::string& network_namespace, const std::string& data);

}  // namespace porthole::local_cluster
