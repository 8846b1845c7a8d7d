#pragma once
#include "local_cluster/processes/child_process.h"
#include "local_cluster/state/cluster.h"
#include "runtime/processes/process.h"

namespace porthole::local_cluster {

/// The distribution's containerd with its own root, state and socket for one node of this machine. Does not own the process: the supervisor
/// runs command(). References outlive it and its tasks.
class NodeContainerd {
public:
    NodeContainerd(ProcessRunner& processes, const DataDir& data, NodeHost node)
        : processes_(processes), data_(data), node_(std::move(node)) {}

    /// Writes the configuration and creates the directories. Error: Io; BadRequest for a path that containerd does not support.
    Result<void> prepare() const;
    ChildCommand command() const;
    /// Waits until the socket answers, then imports the sandbox image. Error: Timeout, naming the log file.
    Task<> ensure_ready(EventLoop& loop);
    /// Imports a docker or OCI archive. Returns the names of its images. Error: BadRequest with containerd's message.
    Task<std::vector<std::string>> import(std::filesystem::path archive);

    std::filesystem::path log_file() const { return data_.logs() / (node_.name + "-containerd.log"); }

private:
    std::filesystem::path state() const { return data_.runtime(node_.name); }
    std::filesystem::path root() const { return data_.node(node_.name) / "containerd"; }
    std::string configuration() const;
    Task<CommandOutput> ctr(std::vector<std::string> arguments, Duration limit);

    ProcessRunner& processes_;
    const DataDir& data_;
    NodeHost node_;
};

}  // namespace porthole::local_cluster
