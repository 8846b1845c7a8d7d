#pragma once
#include <functional>
#include <string>
#include <vector>

#include "runtime/event_loop.h"
#include "runtime/files/file_system.h"
#include "runtime/processes/process.h"
#include "runtime/worker_pool.h"
#include "winhost/template/host_profile.h"

namespace porthole::winhost {

/// A built template: read-only directories for overlayfs.
struct WineTemplate {
    std::string folder;        ///< ".../wine-3f2c..."
    std::string id;            ///< changes with its contents
    std::string version;       ///< of Wine: "8.0"
    bool with_32_bit = false;  ///< whether programs of 32 bits run

    /// For a container of `profile`, topmost first. C:\ is below wine/drive_c.
    std::vector<std::string> lowers(const HostProfile& profile) const;
    /// Placed before those if the container's user is ContainerUser.
    std::string contained_user() const { return join_path(folder, "contained-user"); }
    /// The root of a sandbox's own process.
    std::string sandbox_root() const { return join_path(folder, "sandbox"); }
};

/// The collaborators of building a template. All outlive the task.
struct TemplateContext {
    EventLoop& loop;
    ProcessRunner& processes;
    FileSystem& files;
    WorkerPool& pool;
    std::function<void(const std::string& step)> progress;  ///< may be empty
};

/// Whether containers can have the Wine in the directory `wine_root`. Errors: NotFound for missing files, Invalid for one of another kind
/// of machine, Forbidden for one that others than root can change; all with the remedy.
Result<void> check_wine_root(const std::string& wine_root);

/// The template of a Wine in `cache` ("~/.cache/porthole"): an existing one, or a new one, which takes 10 to 20 s. `wine_root` is a
/// directory with another Wine than the installed one and its libraries (docs/design/windows_node.md); "" for the installed one. Several
/// programs may ask at the same time; one of them builds. Templates of other versions that have been unused for long are deleted. Errors:
/// NotFound if Wine is not there (with the remedy), Invalid and Forbidden for an unsuitable directory, Io, Timeout.
Task<WineTemplate> ensure_wine_template(TemplateContext context, std::string cache, std::string wine_root = "");

/// $XDG_CACHE_HOME/porthole, or ~/.cache/porthole.
std::string default_cache_folder();

}  // namespace porthole::winhost
