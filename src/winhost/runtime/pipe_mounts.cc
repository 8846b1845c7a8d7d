#include "winhost/runtime/pipe_mounts.h"

#include <algorithm>

#include "winhost/runtime/windows_path.h"

namespace porthole::winhost {
namespace {

constexpr std::string_view Prefix = "\\\\.\\pipe\\";  // containerd and HCS know this spelling only

Error incorrect(const std::string& why) { return Error(Reason::Invalid, "The parameter is incorrect. (0x57): " + why); }

Result<void> check_name(const std::string& path) {
    if (path.starts_with(Prefix) && path.size() > Prefix.size()) return {};
    return incorrect(path + " is not spelled as a named pipe: it must be " + std::string(Prefix) + "NAME");
}

}  // namespace

Result<std::vector<PipeMount>> plan_pipe_mounts(const std::vector<cri::Mount>& mounts) {
    std::vector<PipeMount> pipes;
    for (const cri::Mount& mount : mounts) {
        const bool of_pipe = is_pipe_path(mount.host_path), at_pipe = is_pipe_path(mount.container_path);
        if (of_pipe && !at_pipe)
            return incorrect("the named pipe " + mount.host_path + " cannot be mounted at " + mount.container_path + ", only at " +
                             std::string(Prefix) + "NAME");
        if (at_pipe && !of_pipe)
            return incorrect(mount.host_path + " is not a named pipe and cannot be mounted at " + mount.container_path);
        if (!of_pipe) continue;
        TRY_VOID(check_name(mount.host_path));
        TRY_VOID(check_name(mount.container_path));
        const bool taken = std::any_of(pipes.begin(), pipes.end(),
                                       [&](const PipeMount& other) { return same_name(other.container_name, mount.container_path); });
        if (taken)
            return Error(Reason::Invalid,
                         "Cannot create a file when that file already exists. (0xb7): " + mount.container_path + " is mounted twice");
        pipes.push_back({mount.host_path, mount.container_path});
    }
    return pipes;
}

}  // namespace porthole::winhost
