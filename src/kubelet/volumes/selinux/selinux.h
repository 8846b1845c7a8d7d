#pragma once
#include <memory>
#include <string>

#include "api/core_v1.h"
#include "runtime/files/file_system.h"

namespace porthole::kubelet {

namespace core = api::core::v1;

/// SELinux of this machine: the labels that its policy gives to containers and to their files. `files` outlives it.
class Selinux {
public:
    /// Null if SELinux is off: the kernel has loaded no policy, or its file system selinuxfs is not mounted writable.
    static std::unique_ptr<const Selinux> find(FileSystem& files);

    /// The label of files that a container with `options` has. "" if it is not known beforehand: nothing is set, the machine has no labels
    /// for containers, or the runtime will pick the level. Error: BadRequest if the policy's labels or the options are not valid.
    Result<std::string> file_label(const core::SELinuxOptions& options) const;
    /// Whether files below `path` can be given labels, by the mount that they are on. Does not touch `path` itself. Error: with upstream's
    /// message.
    Result<bool> labels_files(const std::string& path) const;

private:
    explicit Selinux(FileSystem& files) : files_(files) {}

    FileSystem& files_;
    std::string process_label_, file_label_;  ///< of containers without options; "" if the policy names none
};

}  // namespace porthole::kubelet
