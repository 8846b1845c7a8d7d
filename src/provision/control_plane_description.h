#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "provision/machine_description.h"

namespace porthole::provision {

/// The etcd of servers. Files are absolute paths on this machine.
struct EtcdOfServers {
    std::vector<std::string> urls;  ///< none: the only server has its own store
    std::string ca_file, certificate_file, key_file;
    std::string token_file;  ///< with this secret the servers share their authorities and keys; "" may stand for one that a run makes
};

/// An etcd whose members run on the servers' hosts.
struct OwnEtcd {
    std::string program = "/usr/bin/etcd";  ///< absolute path on the hosts
};

/// `spec.controlPlane` of a description: hosts that run `porthole server`.
struct ControlPlaneDescription {
    std::string cluster;                    ///< metadata.name; by it a host's server and a kubeconfig's entry are known as this cluster's
    std::vector<MachineDescription> hosts;  ///< with IPv4 addresses, at which nodes reach the servers
    EtcdOfServers etcd;                     ///< with own_etcd, the URLs of its members, without files
    std::optional<OwnEtcd> own_etcd;        ///< nullopt: an etcd that exists already, or none
    std::string kubeconfig;                 ///< absolute path of the file for the administrator
    std::uint16_t port = 6443;
    std::string networks;            ///< pods, services, DNS and domain: objects of the cluster contain them, so they do not change
    std::vector<std::string> flags;  ///< further ones of every server: names and values in turn

    std::string url(const MachineDescription& host) const { return "https://" + host.ssh.address + ":" + std::to_string(port); }
};

/// nullopt if the description has no control plane. Its `apiServer` and `network` are as for `up`. Error: BadRequest with the field.
Result<std::optional<ControlPlaneDescription>> read_control_plane(std::string_view yaml, const DescriptionPlace& place);

/// From a description's file, with the user's HOME. Errors: also those of reading it; all name the file.
Result<std::optional<ControlPlaneDescription>> read_control_plane_file(const std::string& file);

}  // namespace porthole::provision
