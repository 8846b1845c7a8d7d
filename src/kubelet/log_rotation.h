#pragma once
#include "base/log.h"
#include "kubelet/cri/cri.h"
#include "runtime/files/file_system.h"

namespace porthole::kubelet {

/// Limits the size of container logs: a file larger than `max_bytes` is renamed to "0.log.<time>" and the runtime opens a new one; the
/// oldest renamed files are removed, so that at most `max_files` remain. References must outlive its tasks.
class LogRotation {
public:
    LogRotation(RuntimeService& runtime, FileSystem& files, Logger log, std::int64_t max_bytes, int max_files)
        : runtime_(runtime), files_(files), log_(std::move(log)), max_bytes_(max_bytes), max_files_(max_files) {}

    /// Checks the logs of all running containers once.
    Task<> rotate();

private:
    Task<> rotate_one(std::string id);
    Result<void> remove_old(const std::string& path);

    RuntimeService& runtime_;
    FileSystem& files_;
    Logger log_;
    std::int64_t max_bytes_;
    int max_files_;
};

}  // namespace porthole::kubelet
