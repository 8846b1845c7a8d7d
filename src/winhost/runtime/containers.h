#pragma once  // private to this folder
#include "runtime/scope.h"
#include "winhost/bundle/cgroup.h"
#include "winhost/bundle/runc.h"
#include "winhost/runtime/init_connection.h"
#include "winhost/runtime/pipe_mounts.h"
#include "winhost/runtime/sandboxes.h"

namespace porthole::winhost {

/// A container of the runtime, running or not. Shared by the tasks that work on it; on the runtime's loop only.
struct Container {
    ContainerRecord record;
    Folder folder;
    ImageStore::Hold hold;
    Event finished;   ///< set once it has ended and is taken down
    Event has_pipes;  ///< set once the host's named pipes were looked up
    bool starting = false;

    bool running() const { return record.state == cri::ContainerState::ContainerRunning; }
};

/// The containers: an overlay each, with init and launch.exe between the runtime and the Windows program. Lives on the runtime's loop;
/// references outlive it, and its tasks belong to `scope`. Errors: those of kubelet::RuntimeService.
class Containers {
public:
    Containers(RuntimeContext context, const RuntimeOptions& options, Runc& runc, Sandboxes& sandboxes, Scope& scope)
        : context_(context), options_(options), runc_(runc), sandboxes_(sandboxes), scope_(scope), cgroups_(context.files) {}

    /// Reads the records on the disk and adopts running containers. Called once, before anything else.
    Task<> load();
    /// Returns the id.
    Task<std::string> create(cri::CreateContainerRequest request);
    Task<> start(std::string id);
    /// The stop event, then up to `grace` later the end by force. Success if it does not run.
    Task<> stop(std::string id, Duration grace);
    Task<> remove(std::string id);
    Task<> update(std::string id, cri::WindowsContainerResources resources);

    std::shared_ptr<Container> find(const std::string& id) const;
    const std::map<std::string, std::shared_ptr<Container>>& all() const { return containers_; }
    std::string cgroup(const Container& container) const;

private:
    Result<ContainerRecord> make_record(const cri::CreateContainerRequest& request, const Sandbox& sandbox, const Image& image);
    Task<> run(std::shared_ptr<Container> container, std::shared_ptr<Sandbox> sandbox);
    /// Of the image's layers, into a registry for the container's Wine.
    Task<> merge_hives(ContainerRecord& record, std::vector<std::string> templates);
    Result<void> drop_unused_registries();
    Task<std::unique_ptr<InitConnection>> connect(std::shared_ptr<Container> container);
    Task<std::unique_ptr<InitConnection>> listen(std::shared_ptr<Container> container);
    Task<std::unique_ptr<InitConnection>> wait_for_program(std::shared_ptr<Container> container);
    /// Starts the container's program, which is held back, together with the host's named pipes.
    Task<> begin_with_pipes(std::shared_ptr<Container> container, std::vector<PipeMount> pipes);
    /// As long as the container runs.
    Task<> relay_pipes(std::shared_ptr<Container> container, std::vector<PipeMount> pipes);
    Task<> monitor(std::shared_ptr<Container> container, std::unique_ptr<InitConnection> connection);
    Task<> adopt(std::shared_ptr<Container> container);
    /// Records how it ended and takes down everything but its writable layer.
    Task<> finish(std::shared_ptr<Container> container);
    Task<> take_down(std::shared_ptr<Container> container);
    std::optional<ProgramEnd> read_exit_file(const Container& container) const;
    void read_end(Container& container);
    std::optional<std::uint64_t> commit_left() const;
    Result<void> save(const Container& container);

    RuntimeContext context_;
    const RuntimeOptions& options_;
    Runc& runc_;
    Sandboxes& sandboxes_;
    Scope& scope_;
    Cgroups cgroups_;
    std::map<std::string, std::shared_ptr<Container>> containers_;
};

}  // namespace porthole::winhost
