#include "local_cluster/control_plane/api_servers.h"

#include "local_cluster/control_plane/etcd_members.h"
#include "local_cluster/control_plane/hardened.h"
#include "net/tls/x509.h"
#include "runtime/files/durable_file.h"
#include "runtime/random.h"

namespace porthole::local_cluster {

std::vector<ApiServerProcess> api_servers(const DataDir& data, const Cluster& cluster) {
    if (cluster.options.foreign) return {};
    if (!cluster.has_several_servers()) return {{.name = "server", .address = "127.0.0.1", .data = data}};
    std::vector<ApiServerProcess> servers;
    for (const std::string& address : cluster.server_addresses()) {
        const std::string name = "server-" + std::to_string(servers.size() + 1);
        servers.push_back({.name = name, .address = address, .data = servers.empty() ? data : DataDir(data.further_server(name))});
    }
    return servers;
}

ChildCommand api_server_command(const DataDir& data, const Cluster& cluster, const ApiServerProcess& server) {
    const ClusterOptions& options = cluster.options;
    const bool several = cluster.has_several_servers(), first = server.data.root() == data.root();
    std::vector<std::string> arguments{own_program().string(),
                                       "server",
                                       "--data",
                                       server.data.root().string(),
                                       "--port",
                                       std::to_string(options.port),
                                       "--advertise-address",
                                       several ? server.address : cluster.server_address(),
                                       "--service-cidr",
                                       options.service_cidr,
                                       "--cluster-cidr",
                                       options.cluster_cidr,
                                       "--cluster-dns",
                                       options.cluster_dns,
                                       "--cluster-domain",
                                       options.cluster_domain,
                                       "--backend",
                                       options.backend};
    const auto append = [&](const std::vector<std::string>& more) { arguments.insert(arguments.end(), more.begin(), more.end()); };
    if (first) append({"--revive-supervisor"});  // of the cluster in its data directory
    if (several) {
        append({"--bind-address", server.address, "--server-token-file", data.server_token().string()});
        append(etcd_client_flags(data, cluster));
    }
    append({"--audit-log-path", (data.logs() / (first ? "audit.log" : "audit-" + server.name + ".log")).string()});
    // Of the audit log little, as it shares a person's disk with everything else.
    append(options.hardened ? hardened_server_flags(data)
                            : std::vector<std::string>{"--audit-log-maxsize", "20", "--audit-log-maxbackup", "5"});
    return {.arguments = with_server_arguments(std::move(arguments), options.server_arguments),
            .log_file = data.logs() / (server.name + ".log"),
            .network_namespace = {}};
}

Result<void> ensure_server_token(const DataDir& data) {
    constexpr std::size_t TokenBytes = 32;
    if (path_exists(data.server_token())) return {};
    return write_durably(data.server_token(), net::to_hex(SystemRandom().bytes(TokenBytes)) + "\n");
}

}  // namespace porthole::local_cluster
