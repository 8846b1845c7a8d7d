#pragma once
#include "base/log.h"
#include "kubelet/lifecycle/log_links.h"

namespace porthole::kubelet {

/// Removes ended containers except the newest of each name, unused sandboxes, and log directories of pods that no longer exist. Everything
/// of an unknown pod is removed. References must outlive it and its tasks.
class ContainerGc {
public:
    ContainerGc(RuntimeService& runtime, FileSystem& files, LogLinks& links, Logger log, std::string log_root)
        : runtime_(runtime), files_(files), links_(links), log_(std::move(log)), log_root_(std::move(log_root)) {}

    /// `wanted` returns whether a pod's leftovers may still be needed. Without `sources_ready`, nothing of an unknown pod is removed.
    Task<> collect(std::function<bool(const std::string& uid)> wanted, bool sources_ready);
    /// All containers and sandboxes of a pod that has ended.
    Task<> remove_pod(std::string uid);
    /// One that has ended, with the link to its log; the log itself stays. Success when it is not there.
    Task<> remove_container(std::string id);

private:
    Task<> remove_sandbox(std::string id, bool ready);
    void remove_logs(const std::function<bool(const std::string& uid)>& wanted);

    RuntimeService& runtime_;
    FileSystem& files_;
    LogLinks& links_;
    Logger log_;
    std::string log_root_;
};

}  // namespace porthole::kubelet
