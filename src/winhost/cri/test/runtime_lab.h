#pragma once
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kubelet/cri/cri_grpc.h"
#include "runtime/processes/process.h"
#include "runtime/run_task.h"
#include "runtime/worker_pool.h"
#include "winhost/cri/cri_server.h"
#include "winhost/cri/image_service.h"
#include "winhost/images/image_store.h"
#include "winhost/images/registry/fake_registry.h"
#include "winhost/runtime/runtime.h"

namespace porthole::winhost {

/// Pods' networks for tests: a namespace each, joined to ours by a veth pair.
class LabNetwork final : public PodNetwork {
public:
    LabNetwork(ProcessRunner& processes, std::string folder) : processes_(processes), folder_(std::move(folder)) {}

    std::string not_ready() override { return ""; }
    Task<std::string> create_namespace() override;
    Task<> remove_namespace(std::string namespace_id) override;
    std::string path(const std::string& namespace_id) const override { return join_path(folder_, namespace_id); }
    void fail(bool fails) { fails_ = fails; }
    Task<PodAddresses> attach(PodAttachment attachment) override;
    Task<> detach(PodAttachment) override { co_return {}; }
    /// Where the network of the newest sandbox is.
    Task<> run_inside(std::string command);

private:
    Task<> run(std::string command);

    ProcessRunner& processes_;
    std::string folder_;
    int next_ = 0;
    bool fails_ = false;
};

/// A complete runtime with its CRI server in this process, on real Wine and runc, and a client that uses its socket. Has its own network
/// namespace and directory.
class RuntimeLab {
public:
    RuntimeLab();
    ~RuntimeLab();

    /// Why this machine cannot run it; "" if it can.
    static std::string missing();

    template <class T>
    Result<T> run(Task<T> task) {
        return run_task(loop, std::move(task));
    }

    void start();
    /// As if killed: containers keep running.
    void stop();
    kubelet::RuntimeService& cri() { return client_->runtime(); }
    kubelet::ImageService& images() { return client_->images(); }

    LabNetwork& network() { return *network_; }
    std::string make_sandbox(const std::string& name);
    Result<std::string> try_sandbox(const std::string& name);
    /// A container of the probe image; `arguments` follow probe.exe.
    api::cri::v1::ContainerConfig probe(const std::string& name, std::vector<std::string> arguments);
    std::string make_container(const std::string& sandbox, const api::cri::v1::ContainerConfig& config);
    /// From now on the container acts as the host, in which mounted named pipes are looked up. "" for none.
    void play_host(const std::string& container);
    std::string start_container(const std::string& id);  ///< why it did not start, or ""
    /// The same on a loop that does not run between init's start and the program's end.
    std::string start_container_late(const std::string& id);
    api::cri::v1::ContainerStatus status(const std::string& id);
    /// Its status once it has ended; fails the test after two minutes.
    api::cri::v1::ContainerStatus wait_for_end(const std::string& id);
    /// Its log without times and carriage returns: "stdout F text\n" ...
    std::string log(const std::string& name);
    /// Waits until the log of container `name` contains `text`; a test failure after two minutes.
    void wait_for_log(const std::string& name, const std::string& text);
    /// SIGKILL to the container's process of that name, as Linux does where memory is short.
    void kill_process(const std::string& container, const std::string& name);
    /// Names of the container's processes with a thread that Linux runs on fewer processors than this program. One per line.
    std::string processes_on_few_processors(const std::string& container);
    std::string address(const std::string& sandbox);
    /// Remaining mounts, cgroups, processes and directories, one per line.
    std::string leftovers();
    std::string host_root() const { return folder_ + "/disk"; }
    std::string host_drive() const { return host_root() + "/wine/drive_c"; }

    AsioLoop loop;
    std::string sandbox_image;  ///< read by start()
    FakeRegistry registry;      ///< from where images are pulled

private:
    void import_images();
    /// The pids of the container's processes.
    std::vector<pid_t> processes_of(const std::string& container);
    std::string name_of(pid_t process);

    std::string folder_;
    std::unique_ptr<WorkerPool> pool_ = make_thread_pool(8);
    std::unique_ptr<ProcessRunner> processes_ = make_process_runner(*pool_);
    std::unique_ptr<FileSystem> files_ = make_file_system();
    SystemRandom random_;
    std::unique_ptr<ImageStore> store_;
    std::unique_ptr<LabNetwork> network_;
    std::unique_ptr<Runtime> runtime_;
    std::unique_ptr<kubelet::ImageService> image_service_;
    std::unique_ptr<CriServer> server_;
    std::unique_ptr<kubelet::GrpcRuntime> client_;
};

}  // namespace porthole::winhost
