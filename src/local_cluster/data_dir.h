#pragma once
#include <filesystem>
#include <string>

namespace porthole::local_cluster {

/// Where a cluster on this machine keeps its files. Everything is found from the data directory alone. Creates nothing.
class DataDir {
public:
    explicit DataDir(const std::filesystem::path& root);

    const std::filesystem::path& root() const { return root_; }
    /// What a command needs to find it again: " --data DIR", or nothing where it is the default.
    std::string flag() const;
    /// Six hex digits of the path: they keep the links, namespaces and sockets of two clusters apart.
    const std::string& id() const { return id_; }

    std::filesystem::path pki() const { return root_ / "pki"; }
    std::filesystem::path store() const { return root_ / "store"; }
    /// A file that names the etcd where the objects are; absent where they are in store(). It alone says so: cluster.json says how many
    /// servers there are to be.
    std::filesystem::path store_location() const { return root_ / "store-location"; }
    /// The embedded store of before the cluster had several servers.
    std::filesystem::path former_store() const { return root_ / "store.before-servers"; }
    /// What secrets are encrypted with on disk.
    std::filesystem::path encryption_file() const { return root_ / "encryption.yaml"; }
    /// Who gets in without a credential, and how admission plugins are set, where the cluster is hardened.
    std::filesystem::path authentication_file() const { return root_ / "authentication.yaml"; }
    std::filesystem::path admission_file() const { return root_ / "admission.yaml"; }
    /// Of a cluster with several servers: what its etcd keeps, the token with which the servers share their keys, and the data directories
    /// of all servers but the first, whose own is root().
    std::filesystem::path etcd() const { return root_ / "etcd"; }
    std::filesystem::path server_token() const { return root_ / "server-token"; }
    std::filesystem::path further_servers() const { return root_ / "api-servers"; }
    std::filesystem::path further_server(const std::string& name) const { return further_servers() / name; }
    /// An etcd() that never became the one where the objects are.
    std::filesystem::path unused_etcd() const { return root_ / "etcd.unused"; }
    std::filesystem::path logs() const { return root_ / "logs"; }
    std::filesystem::path state_file() const { return root_ / "cluster.json"; }
    /// Held by the one supervisor that there may be.
    std::filesystem::path supervisor_lock() const { return root_ / "supervisor.lock"; }
    /// What `up` asks a running supervisor for: the text of --nodes. The supervisor renames it when it takes it up, and removes it once it
    /// is so.
    std::filesystem::path wanted_nodes_file() const { return root_ / "nodes.wanted"; }
    std::filesystem::path taken_nodes_file() const { return root_ / "nodes.taken"; }
    /// Held by the one `up` that starts or changes the cluster.
    std::filesystem::path up_lock() const { return root_ / "up.lock"; }
    std::filesystem::path admin_kubeconfig() const { return root_ / "admin.kubeconfig"; }
    std::filesystem::path node(const std::string& name) const { return root_ / "nodes" / name; }
    /// Sockets and process state, not kept over a reboot. Short, since a Unix socket's path ends at 107 bytes.
    std::filesystem::path runtime() const { return std::filesystem::path("/run/porthole") / id_; }
    std::filesystem::path runtime(const std::string& node) const { return runtime() / node; }
    std::filesystem::path containerd_socket(const std::string& node) const { return runtime(node) / "containerd.sock"; }

private:
    std::filesystem::path root_;
    std::string id_;
};

/// /var/lib/porthole, or PORTHOLE_DATA.
std::filesystem::path default_data_dir();

}  // namespace porthole::local_cluster
