#pragma once
#include "base/log.h"
#include "kubelet/pod/pod.h"
#include "runtime/files/file_system.h"

namespace porthole::kubelet {

/// Links to the logs of containers, `<directory>/<pod>_<namespace>_<container>-<id>.log`, where log shippers look. `files` outlives it.
class LogLinks {
public:
    /// `directory` is "/var/log/containers"; "" for no links.
    LogLinks(FileSystem& files, std::string directory, Logger log)
        : files_(files), directory_(std::move(directory)), log_(std::move(log)) {}

    /// A file system without links is logged once.
    void add(const core::Pod& pod, const std::string& container, const std::string& id, const std::string& log_path);
    void remove(const std::string& id);

private:
    FileSystem& files_;
    std::string directory_;
    Logger log_;
    bool fail_ = false;
};

}  // namespace porthole::kubelet
