#pragma once  // private to this folder
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "api/cri_v1.h"
#include "net/child_task.h"
#include "runtime/files/file_system.h"
#include "runtime/sync.h"
#include "winhost/images/image_store.h"
#include "winhost/runtime/pod_network.h"

namespace porthole::winhost {

namespace cri = api::cri::v1;

/// The state of a sandbox, as stored on the disk.
struct SandboxRecord {
    std::string id;
    cri::PodSandboxConfig config;
    std::string runtime_handler;
    std::string namespace_id;
    std::vector<std::string> addresses;
    std::int64_t created_at = 0;  ///< nanoseconds since 1970, like the other times
    bool ready = false;
    bool attached = false;  ///< its network has to be released

    /// Whether it is on the host's own network, and its containers are programs of the host.
    bool is_host_process() const;

    std::string encode() const;
    static Result<SandboxRecord> decode(const std::string& text);
};

/// The state of a container, as stored on the disk.
struct ContainerRecord {
    std::string id, sandbox_id;
    cri::ContainerConfig config;
    std::string image_id, image_ref;
    std::string image_name;                  ///< a name that the image had when the container was made, or ""
    std::vector<std::string> lower_folders;  ///< of the image
    std::string registry_folder;             ///< above them, with the registry that their hives make; "" if they have none
    std::string spec;                        ///< for launch.exe
    std::string stop_event, start_error;
    bool contained_user = false;
    std::uint64_t memory_per_process = 0;
    std::int64_t created_at = 0, started_at = 0, finished_at = 0;
    cri::ContainerState state = cri::ContainerState::ContainerCreated;
    std::int32_t exit_code = 0;
    std::string reason, message;

    std::string encode() const;
    static Result<ContainerRecord> decode(const std::string& text);
};

/// The directory name of a pod or container: short, because the path of a Unix socket has room for 107 bytes only.
std::string short_id(const std::string& id);

}  // namespace porthole::winhost
