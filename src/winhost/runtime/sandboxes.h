#pragma once  // private to this folder
#include "runtime/scope.h"
#include "winhost/bundle/runc.h"
#include "winhost/runtime/container_root.h"
#include "winhost/runtime/records.h"

namespace porthole::winhost {

/// A sandbox of the runtime. Shared by the tasks that work on it; on the runtime's loop only.
struct Sandbox {
    SandboxRecord record;
    Folder folder;
    int pid = 0;            ///< the process that holds its namespaces
    bool changing = false;  ///< being created or removed: everything else waits its turn or is refused
    bool made = false;      ///< creation succeeded, so it is listed: otherwise every failed attempt would look like a change
};

/// The pods' sandboxes: an HNS namespace with a network in it (not for HostProcess pods, which use the host's), and the process that holds
/// ipc and uts. Lives on the runtime's loop; references outlive it, and its tasks belong to `scope`.
class Sandboxes {
public:
    Sandboxes(RuntimeContext context, const RuntimeOptions& options, Runc& runc, Scope& scope)
        : context_(context), options_(options), runc_(runc), scope_(scope) {}

    /// Reads the records on the disk and adopts running sandboxes. Called once, before anything else.
    Task<> load();
    /// Returns the id.
    Task<std::string> run(cri::RunPodSandboxRequest request);
    /// Releases the network and ends its process. Requires: its containers have ended. Safe to repeat.
    Task<> stop(std::string id);
    Task<> remove(std::string id);
    /// Its process and its namespace have ended, as after a power failure; the plugins' state of it still has to be released.
    Task<> lose(std::string id);

    /// nullptr if there is none; so in const form.
    std::shared_ptr<Sandbox> find(const std::string& id) const;
    const std::map<std::string, std::shared_ptr<Sandbox>>& all() const { return sandboxes_; }
    std::string cgroup(const std::string& id) const;
    /// Where its network namespace is on Linux: a HostProcess pod's is the host's own.
    std::string network_path(const Sandbox& sandbox) const;

private:
    Task<> ensure_image();
    Task<> bring_up(std::shared_ptr<Sandbox> sandbox);
    Task<> start_process(std::shared_ptr<Sandbox> sandbox);
    /// To its network. `addresses` outlive the task.
    Task<> attach(std::shared_ptr<Sandbox> sandbox, PodAddresses& addresses);
    Result<void> begin(const std::shared_ptr<Sandbox>& sandbox, const PodAddresses& addresses);
    Task<> watch(std::shared_ptr<Sandbox> sandbox);
    Task<> detach(std::shared_ptr<Sandbox> sandbox);
    std::string hostname(const Sandbox& sandbox) const;
    Result<void> write_network_files(const Sandbox& sandbox, const PodAddresses& addresses);
    Result<void> save(const Sandbox& sandbox);

    RuntimeContext context_;
    const RuntimeOptions& options_;
    Runc& runc_;
    Scope& scope_;
    std::map<std::string, std::shared_ptr<Sandbox>> sandboxes_;
};

std::int64_t wall_nanoseconds(const Clock& clock);

}  // namespace porthole::winhost
