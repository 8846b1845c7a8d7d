#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/discovery_v1.h"
#include "runtime/files/file_system.h"

namespace porthole::node_join {

/// The name by which a node verifies API servers that it reaches through its own loopback address. Our servers' certificates have it, and
/// those that kubeadm makes.
inline constexpr const char* ServerName = "kubernetes";
/// Where a node's kubeconfig points.
inline constexpr const char* BalancerAddress = "127.0.0.1";
inline constexpr std::uint16_t BalancerPort = 6444;

/// An API server that a node knows.
struct KnownServer {
    std::string url;     ///< "https://10.0.0.5:6443"
    bool given = false;  ///< by the one who joined the node; the others were learned from the cluster
    std::string state;   ///< for readers: "ready, in use"; "" where nothing is known
    bool operator==(const KnownServer&) const = default;
};

/// The file `servers` next to a node's certificate: which servers there are behind its kubeconfig's address, in lines of
/// "given|learned URL state". Written by the program that balances, whenever something changes, so that a restart knows them and that
/// people and `doctor` can look.
std::string server_list_path(const std::string& folder);
std::string to_text(const std::vector<KnownServer>& servers);
/// Lines that cannot be read are left out, and so are all beyond 64.
std::vector<KnownServer> parse_server_list(std::string_view text);
/// Errors: NotFound, Io.
Result<std::vector<KnownServer>> read_server_list(FileSystem& files, const std::string& folder);
/// The server that is behind a kubeconfig's `url`, for those who run while no program of the node does, who look for the machine's address
/// on the way, or who name it: the one in use, else the first; `url` itself where that is a server's.
std::string server_behind(FileSystem& files, const std::string& folder, const std::string& url);

/// The URLs that EndpointSlices of the service default/kubernetes name, in order, each once. Addresses that mean this machine or its link
/// are left out: a server that was never told its address publishes 127.0.0.1.
std::vector<std::string> servers_of(const std::vector<std::shared_ptr<const api::discovery::v1::EndpointSlice>>& slices);

}  // namespace porthole::node_join
