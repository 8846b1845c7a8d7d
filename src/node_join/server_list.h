#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/discovery_v1.h"
#include "runtime/files/file_system.h"

namespace porthole::node_join {

/// The name by which a node verifies API servers behind its own loopback address. Our servers' certificates contain it, and so do those of
/// kubeadm.
inline constexpr const char* ServerName = "kubernetes";
/// Where a node's kubeconfig points.
inline constexpr const char* BalancerAddress = "127.0.0.1";
inline constexpr std::uint16_t BalancerPort = 6444;

/// An API server known to a node.
struct KnownServer {
    std::string url;     ///< "https://10.0.0.5:6443"
    bool given = false;  ///< given at the join; otherwise learned from the cluster
    std::string state;   ///< for readers: "ready, in use"; "" if unknown
    bool operator==(const KnownServer&) const = default;
};

/// The file `servers` next to a node's certificate: the servers behind its kubeconfig's address, in lines of "given|learned URL state".
/// Written by the program that balances, whenever something changes, so that it knows them after a restart, and for people and `doctor` to
/// read.
std::string server_list_path(const std::string& folder);
std::string to_text(const std::vector<KnownServer>& servers);
/// Lines that cannot be read are left out, and so are all beyond 64.
std::vector<KnownServer> parse_server_list(std::string_view text);
/// Errors: NotFound, Io.
Result<std::vector<KnownServer>> read_server_list(FileSystem& files, const std::string& folder);
/// The server behind a kubeconfig's `url`, for callers that run while no program of the node does, that need the machine's address on the
/// route, or that name the server: the one in use, otherwise the first; `url` itself if it is a server's.
std::string server_behind(FileSystem& files, const std::string& folder, const std::string& url);

/// The URLs in EndpointSlices of the service default/kubernetes, in order, without duplicates. Loopback and link-local addresses are left
/// out: a server without a configured address publishes 127.0.0.1.
std::vector<std::string> servers_of(const std::vector<std::shared_ptr<const api::discovery::v1::EndpointSlice>>& slices);

}  // namespace porthole::node_join
