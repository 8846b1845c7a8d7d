#pragma once
#include <filesystem>
#include <string>

namespace porthole::local_cluster {

/// The paths of a cluster's files on this machine, all derived from the data directory. Creates nothing.
class DataDir {
public:
    explicit DataDir(const std::filesystem::path& root);

    const std::filesystem::path& root() const { return root_; }
    /// The argument with which a command finds it: " --data DIR", or "" for the default.
    std::string flag() const;
    /// Six hex digits of the path: they keep the links, namespaces and sockets of two clusters apart.
    const std::string& id() const { return id_; }

    std::filesystem::path pki() const { return root_ / "pki"; }
    std::filesystem::path store() const { return root_ / "store"; }
    /// A file that names the etcd with the objects; absent if they are in store(). Only this file decides: cluster.json only has the wanted
    /// number of servers.
    std::filesystem::path store_location() const { return root_ / "store-location"; }
    /// A file that is there from when a server has stored objects in store() until they are elsewhere.
    std::filesystem::path store_mark() const { return root_ / "store-expected"; }
    /// The embedded store from before the cluster had several servers.
    std::filesystem::path former_store() const { return root_ / "store.before-servers"; }
    /// The key that encrypts secrets on disk.
    std::filesystem::path encryption_file() const { return root_ / "encryption.yaml"; }
    /// The rules for requests without credentials, and the admission plugins' settings, of a hardened cluster.
    std::filesystem::path authentication_file() const { return root_ / "authentication.yaml"; }
    std::filesystem::path admission_file() const { return root_ / "admission.yaml"; }
    /// Of a cluster with several servers: etcd's data, the token with which the servers share their keys, and the data directories of all
    /// servers but the first, whose own is root().
    std::filesystem::path etcd() const { return root_ / "etcd"; }
    std::filesystem::path server_token() const { return root_ / "server-token"; }
    std::filesystem::path further_servers() const { return root_ / "api-servers"; }
    std::filesystem::path further_server(const std::string& name) const { return further_servers() / name; }
    /// An etcd() that never became the one where the objects are.
    std::filesystem::path unused_etcd() const { return root_ / "etcd.unused"; }
    std::filesystem::path logs() const { return root_ / "logs"; }
    std::filesystem::path state_file() const { return root_ / "cluster.json"; }
    /// Locked by the supervisor.
    std::filesystem::path supervisor_lock() const { return root_ / "supervisor.lock"; }
    /// The nodes that `up` requests from a running supervisor: the text of --nodes. The supervisor renames the file when it begins, and
    /// removes it when it is done. If that has failed, failed_nodes_file() says why by then.
    std::filesystem::path wanted_nodes_file() const { return root_ / "nodes.wanted"; }
    std::filesystem::path taken_nodes_file() const { return root_ / "nodes.taken"; }
    /// "node linux-2: REASON", a line for each node that did not start, or one line about the whole change. `up` removes it before it
    /// requests a change.
    std::filesystem::path failed_nodes_file() const { return root_ / "nodes.failed"; }
    /// Locked by an `up` that starts or changes the cluster.
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
