#pragma once
#include <cstdint>
#include <filesystem>
#include <string>

#include "base/result.h"
#include "local_cluster/processes/child_process.h"
#include "runtime/files/file_system.h"

namespace porthole::local_cluster {

/// What an emulated host has in its directory on this machine, DataDir::node(). Pods can put links in place of what is on its C:\
/// (hostPath), so nothing there is opened by its whole path, and no read blocks. Errors of what is on C:\: NotFound; Forbidden if the path
/// leads over a link or to something other than a regular file; RequestEntityTooLarge; Io. Blocking.
class HostFiles {
public:
    explicit HostFiles(std::filesystem::path folder) : folder_(std::move(folder)) {}

    /// The API server by which the host has joined a cluster, as a URL; "" if it has not.
    std::string joined_server() const;
    Result<void> note_joined(const std::string& server) const;

    /// The first process of the host; one that does not run if the host does not.
    ProcessId first_process() const;

    /// Who root of the host is on this machine. This and the next three require that the host runs: C:\ is mounted then only.
    Result<std::uint32_t> root_user() const;
    /// A file of the node's credentials, such as node_join::IdentityFile; at most 64 KiB.
    Result<std::string> read_credential(const std::string& name) const;
    Result<FileStatus> credential_status(const std::string& name) const;
    /// To show to people.
    std::filesystem::path credential_path(const std::string& name) const;

    /// Whether its kubelet has data of claims, whether or not the host runs.
    Result<bool> has_claims() const;

private:
    std::filesystem::path folder_;
};

}  // namespace porthole::local_cluster
