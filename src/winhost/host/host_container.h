#pragma once
#include <functional>
#include <memory>

#include "base/log.h"
#include "runtime/asio_loop.h"
#include "runtime/scope.h"
#include "winhost/bundle/cgroup.h"
#include "winhost/bundle/container_users.h"
#include "winhost/bundle/runc.h"
#include "winhost/host/host_programs.h"
#include "winhost/runtime/init_connection.h"
#include "winhost/runtime/program_spec.h"
#include "winhost/template/wine_template.h"

namespace porthole::winhost {

/// The collaborators of the host's container. All outlive it.
struct HostContainerContext {
    AsioLoop& loop;
    ProcessRunner& processes;
    FileSystem& files;
    WorkerPool& pool;
    Logger log;
};

/// How one host differs from another.
struct HostContainerOptions {
    std::string name;      ///< the host's own, "windows-1"
    std::string data;      ///< a directory for it only, with a short path
    std::string cgroup;    ///< "/porthole-winhost/..."
    std::string programs;  ///< directory with the .exe and .dll files to copy to it; "" for none
    ContainerUsers users;
    HostProfile profile;
    WineTemplate wine;
};

/// The services that a boot sets up for the programs on the host.
struct HostServices {
    std::string address;    ///< the host's own, to which its name resolves
    std::string host_file;  ///< emulator.json
    /// Named pipes of servers on Linux, and their loopback addresses: {"\\\\.\\pipe\\containerd-containerd", "127.0.0.1:7002"}.
    std::vector<std::pair<std::string, std::string>> pipes;
    std::string token;
};

/// The host itself: Wine on its own overlay, in this process's network namespace, with a service manager that runs from boot to shutdown.
/// Its disk is kept; its processes may outlive this one and are adopted. close() it before destroying it.
class HostContainer final : public HostPrograms {
public:
    HostContainer(HostContainerContext context, HostContainerOptions options);
    ~HostContainer() override;

    /// Its root file system on Linux, and C:\ in it; available from start() on. Pods may write there: use HeldTree to open files below.
    std::string root() const;
    std::string drive() const;
    std::string socket() const;
    /// Adopts a running host with the same services; otherwise boots it. From then on a host that ends by itself is booted again. Errors:
    /// Io, Timeout.
    Task<> start(HostServices services);
    /// Stops supervising; the host keeps running.
    Task<> close();
    /// Services are stopped in good order, then everything ends. Success if it does not run.
    Task<> shut_down(Duration grace);

    Task<CommandOutput> run(HostCommand command) override;

private:
    using Connection = std::unique_ptr<InitConnection>;
    Task<Connection> boot();
    Result<void> prepare_disk();
    Result<void> place_programs();
    /// Null if none runs that was started with the same services.
    Task<Connection> adopt();
    Task<Connection> wait_until_started();
    Task<> keep_running(Connection connection);
    Task<> take_down();

    HostContainerContext context_;
    HostContainerOptions options_;
    HostServices services_;
    Runc runc_;
    Cgroups cgroups_;
    std::unique_ptr<Scope> watching_;
};

/// A program on the host, with the command line and the environment of an administrator's console.
ProgramSpec host_program_spec(const std::string& command_line, const std::string& directory, const std::vector<std::string>& variables);

}  // namespace porthole::winhost
