#include "winhost/runtime/runtime.h"

#include "runtime/scope.h"
#include "schema/json/json.h"
#include "winhost/bundle/cgroup.h"
#include "winhost/bundle/overlay.h"
#include "winhost/bundle/runc.h"
#include "winhost/runtime/program_spec.h"
#include "winhost/runtime/statistics.h"

namespace porthole::winhost {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t LongestDataPath = 60;          // with "/c/<id>/x/s" it must fit into the address of a Unix socket
constexpr std::size_t LargestExecOutput = 16 << 20;  // bytes, as containerd limits it

template <class Labels>
bool matches(const Labels& selector, const Labels& labels) {
    for (const auto& [name, value] : selector) {
        const auto found = labels.find(name);
        if (found == labels.end() || found->second != value) return false;
    }
    return true;
}

Error no_container(const std::string& id) {
    return Error(Reason::NotFound, "an error occurred when try to find container \"" + id + "\": not found");
}
Error no_sandbox(const std::string& id) {
    return Error(Reason::NotFound, "an error occurred when try to find sandbox \"" + id + "\": not found");
}

cri::PodSandboxState state_of(const Sandbox& sandbox) {
    return sandbox.record.ready ? cri::PodSandboxState::SandboxReady : cri::PodSandboxState::SandboxNotready;
}

cri::ContainerStatus status_of(const Container& container) {
    const ContainerRecord& record = container.record;
    cri::ContainerStatus status;
    status.id = record.id;
    status.metadata = record.config.metadata;
    status.state = record.state;
    status.created_at = record.created_at;
    status.started_at = record.started_at;
    status.finished_at = record.finished_at;
    status.exit_code = record.exit_code;
    status.image = record.config.image;
    // As containerd does: the kubelet asks for an image by its id, and the pod's status shows the name.
    if (status.image && !record.image_name.empty()) status.image->image = record.image_name;
    status.image_ref = record.image_ref;
    status.image_id = record.image_id;
    status.reason = record.reason;
    status.message = record.message;
    status.labels = record.config.labels;
    status.annotations = record.config.annotations;
    status.mounts = record.config.mounts;
    status.log_path = record.config.log_path;
    if (record.config.windows && record.config.windows->resources) {
        cri::ContainerResources resources;
        resources.windows = record.config.windows->resources;
        status.resources = std::move(resources);
    }
    return status;
}

cri::PodSandboxStatus status_of(const Sandbox& sandbox) {
    const SandboxRecord& record = sandbox.record;
    cri::PodSandboxStatus status;
    status.id = record.id;
    status.metadata = record.config.metadata;
    status.state = state_of(sandbox);
    status.created_at = record.created_at;
    status.labels = record.config.labels;
    status.annotations = record.config.annotations;
    status.runtime_handler = record.runtime_handler;
    cri::PodSandboxNetworkStatus network;
    for (const std::string& address : record.addresses) {
        if (network.ip.empty())
            network.ip = address;
        else
            network.additional_ips.push_back({.ip = address});
    }
    status.network = std::move(network);
    return status;
}

}  // namespace

struct Runtime::Impl {
    Impl(RuntimeContext context, RuntimeOptions options)
        : context(context),
          options(std::move(options)),
          runc(context.processes, context.files, join_path(this->options.data, "runc")),
          scope(context.loop,
                [this](const Error& error) { this->context.log.warn("watching a container failed", {{"error", error.message}}); }),
          sandboxes(context, this->options, runc, scope),
          containers(context, this->options, runc, sandboxes, scope),
          statistics(context, containers) {}

    Task<> stop_containers(std::string sandbox_id, Duration grace) {
        for (const std::string& id : containers_of(sandbox_id)) CO_TRY_VOID(co_await containers.stop(id, grace));
        co_return {};
    }
    std::vector<std::string> containers_of(const std::string& sandbox_id) const {
        std::vector<std::string> ids;
        for (const auto& [id, container] : containers.all())
            if (container->record.sandbox_id == sandbox_id) ids.push_back(id);
        return ids;
    }

    RuntimeContext context;
    RuntimeOptions options;
    Runc runc;
    Scope scope;
    Sandboxes sandboxes;
    Containers containers;
    Statistics statistics;
    StreamAddresses* streams = nullptr;
};

Runtime::Runtime(RuntimeContext context, RuntimeOptions options) : impl_(std::make_unique<Impl>(context, std::move(options))) {}
Runtime::~Runtime() = default;

Task<> Runtime::start() {
    const RuntimeOptions& options = impl_->options;
    if (options.data.size() > LongestDataPath)
        co_return Error(Reason::BadRequest, "the data directory's path is too long (" + options.data + "): at most " +
                                                std::to_string(LongestDataPath) + " bytes");
    CO_TRY_VOID(impl_->context.files.create_directories(options.data, 0700));
    CO_TRY_VOID(co_await impl_->sandboxes.load());
    CO_TRY_VOID(co_await impl_->containers.load());
    CO_TRY(const auto known, impl_->runc.list());
    for (const std::string& id : known) {  // what a crash left between a folder's end and its container's
        const auto named = [&](const auto& all) {
            for (const auto& [full, entry] : all)
                if (short_id(full) == id) return true;
            return false;
        };
        if (!named(impl_->sandboxes.all()) && !named(impl_->containers.all())) CO_TRY_VOID(co_await impl_->runc.remove(id));
    }
    co_return co_await impl_->context.images.collect_garbage();
}

Task<> Runtime::close() { return impl_->scope.close(); }

Task<> Runtime::power_off() {
    std::vector<std::string> containers, sandboxes;
    for (const auto& [id, container] : impl_->containers.all()) containers.push_back(id);
    for (const auto& [id, sandbox] : impl_->sandboxes.all()) sandboxes.push_back(id);
    for (const std::string& id : containers) CO_TRY_VOID(co_await impl_->containers.stop(id, Duration::zero()));
    for (const std::string& id : sandboxes) CO_TRY_VOID(co_await impl_->sandboxes.lose(id));
    Cgroups(impl_->context.files).remove("/porthole-winhost/" + impl_->options.host_name);
    co_return {};
}

Task<> Runtime::remove_everything() {
    std::vector<std::string> ids;
    for (const auto& [id, sandbox] : impl_->sandboxes.all()) ids.push_back(id);
    for (const std::string& id : ids) {
        cri::RemovePodSandboxRequest request;
        request.pod_sandbox_id = id;
        CO_TRY_VOID(co_await remove_pod_sandbox(std::move(request)));
    }
    Cgroups(impl_->context.files).remove("/porthole-winhost/" + impl_->options.host_name);
    co_return {};
}

void Runtime::set_streams(StreamAddresses* streams) { impl_->streams = streams; }

Result<std::string> Runtime::container_socket(const std::string& container_id) const {
    const auto container = impl_->containers.find(container_id);
    if (!container) return no_container(container_id);
    if (!container->running()) return Error(Reason::Conflict, "container is not running");
    return container->folder.socket();
}

Result<std::string> Runtime::sandbox_socket(const std::string& sandbox_id) const {
    const auto sandbox = impl_->sandboxes.find(sandbox_id);
    if (!sandbox) return no_sandbox(sandbox_id);
    if (!sandbox->record.ready) return Error(Reason::Conflict, "sandbox container \"" + sandbox_id + "\" is not running");
    return sandbox->folder.socket();
}

Result<std::string> Runtime::exec_spec(const std::string& container_id, const std::vector<std::string>& command) const {
    const auto container = impl_->containers.find(container_id);
    if (!container) return no_container(container_id);
    ProgramSpec spec = ProgramSpec::decode(container->record.spec);
    spec.command_line = join_command_line(command);
    return spec.encode();
}

bool Runtime::has_terminal(const std::string& container_id) const {
    const auto container = impl_->containers.find(container_id);
    return container && container->record.config.tty;
}

Task<cri::VersionResponse> Runtime::version(cri::VersionRequest request) {
    // Nodes report it: which Wine runs the programs decides what works.
    co_return cri::VersionResponse{.version = "0.1.0",
                                   .runtime_name = "porthole-wine",
                                   .runtime_version = "0.1.0+wine-" + impl_->options.wine.version,
                                   .runtime_api_version = "v1"};
}

Task<cri::StatusResponse> Runtime::status(cri::StatusRequest request) {
    cri::RuntimeStatus status;
    status.conditions.push_back({.type = "RuntimeReady", .status = true});
    const std::string why = impl_->context.network.not_ready();
    cri::RuntimeCondition network{.type = "NetworkReady", .status = why.empty()};
    if (!why.empty()) {
        network.reason = "NetworkPluginNotReady";
        network.message = "Network plugin returns error: " + why;
    }
    status.conditions.push_back(std::move(network));
    cri::StatusResponse response;
    response.status = std::move(status);
    if (request.verbose)  // as containerd shows it
        response.info["config"] = schema::to_json(schema::Value::object({{"sandboxImage", impl_->options.sandbox_image}}));
    for (const char* name : {"", "runhcs-wcow-process", "wine-light"}) response.runtime_handlers.push_back({.name = name});
    co_return response;
}

Task<cri::RunPodSandboxResponse> Runtime::run_pod_sandbox(cri::RunPodSandboxRequest request) {
    static constexpr std::string_view Handlers[] = {"", "runhcs-wcow-process", "wine-light"};
    if (std::find(std::begin(Handlers), std::end(Handlers), request.runtime_handler) == std::end(Handlers))
        co_return Error(Reason::BadRequest, "no runtime for \"" + request.runtime_handler + "\" is configured");
    CO_TRY(const std::string id, co_await impl_->sandboxes.run(std::move(request)));
    co_return cri::RunPodSandboxResponse{.pod_sandbox_id = id};
}

Task<cri::StopPodSandboxResponse> Runtime::stop_pod_sandbox(cri::StopPodSandboxRequest request) {
    CO_TRY_VOID(co_await impl_->stop_containers(request.pod_sandbox_id, Duration::zero()));
    CO_TRY_VOID(co_await impl_->sandboxes.stop(request.pod_sandbox_id));
    co_return cri::StopPodSandboxResponse{};
}

Task<cri::RemovePodSandboxResponse> Runtime::remove_pod_sandbox(cri::RemovePodSandboxRequest request) {
    for (const std::string& id : impl_->containers_of(request.pod_sandbox_id)) CO_TRY_VOID(co_await impl_->containers.remove(id));
    CO_TRY_VOID(co_await impl_->sandboxes.remove(request.pod_sandbox_id));
    co_return cri::RemovePodSandboxResponse{};
}

Task<cri::PodSandboxStatusResponse> Runtime::pod_sandbox_status(cri::PodSandboxStatusRequest request) {
    const auto sandbox = impl_->sandboxes.find(request.pod_sandbox_id);
    if (!sandbox) co_return no_sandbox(request.pod_sandbox_id);
    cri::PodSandboxStatusResponse response;
    response.status = status_of(*sandbox);
    if (request.verbose) response.info["networkNamespace"] = sandbox->record.namespace_id;
    co_return response;
}

Task<cri::ListPodSandboxResponse> Runtime::list_pod_sandbox(cri::ListPodSandboxRequest request) {
    cri::ListPodSandboxResponse response;
    for (const auto& [id, sandbox] : impl_->sandboxes.all()) {
        if (!sandbox->made) continue;
        if (request.filter) {
            const auto& filter = *request.filter;
            if (!filter.id.empty() && filter.id != id) continue;
            if (filter.state && filter.state->state != state_of(*sandbox)) continue;
            if (!matches(filter.label_selector, sandbox->record.config.labels)) continue;
        }
        cri::PodSandbox item;
        item.id = id;
        item.metadata = sandbox->record.config.metadata;
        item.state = state_of(*sandbox);
        item.created_at = sandbox->record.created_at;
        item.labels = sandbox->record.config.labels;
        item.annotations = sandbox->record.config.annotations;
        item.runtime_handler = sandbox->record.runtime_handler;
        response.items.push_back(std::move(item));
    }
    co_return response;
}

Task<cri::CreateContainerResponse> Runtime::create_container(cri::CreateContainerRequest request) {
    CO_TRY(const std::string id, co_await impl_->containers.create(std::move(request)));
    co_return cri::CreateContainerResponse{.container_id = id};
}

Task<cri::StartContainerResponse> Runtime::start_container(cri::StartContainerRequest request) {
    CO_TRY_VOID(co_await impl_->containers.start(request.container_id));
    co_return cri::StartContainerResponse{};
}

Task<cri::StopContainerResponse> Runtime::stop_container(cri::StopContainerRequest request) {
    CO_TRY_VOID(co_await impl_->containers.stop(request.container_id, std::chrono::seconds(std::max<std::int64_t>(request.timeout, 0))));
    co_return cri::StopContainerResponse{};
}

Task<cri::RemoveContainerResponse> Runtime::remove_container(cri::RemoveContainerRequest request) {
    CO_TRY_VOID(co_await impl_->containers.remove(request.container_id));
    co_return cri::RemoveContainerResponse{};
}

Task<cri::ListContainersResponse> Runtime::list_containers(cri::ListContainersRequest request) {
    cri::ListContainersResponse response;
    for (const auto& [id, container] : impl_->containers.all()) {
        const ContainerRecord& record = container->record;
        if (request.filter) {
            const auto& filter = *request.filter;
            if (!filter.id.empty() && filter.id != id) continue;
            if (!filter.pod_sandbox_id.empty() && filter.pod_sandbox_id != record.sandbox_id) continue;
            if (filter.state && filter.state->state != record.state) continue;
            if (!matches(filter.label_selector, record.config.labels)) continue;
        }
        cri::Container item;
        item.id = id;
        item.pod_sandbox_id = record.sandbox_id;
        item.metadata = record.config.metadata;
        item.image = record.config.image;
        item.image_ref = record.image_ref;
        item.image_id = record.image_id;
        item.state = record.state;
        item.created_at = record.created_at;
        item.labels = record.config.labels;
        item.annotations = record.config.annotations;
        response.containers.push_back(std::move(item));
    }
    co_return response;
}

Task<cri::ContainerStatusResponse> Runtime::container_status(cri::ContainerStatusRequest request) {
    const auto container = impl_->containers.find(request.container_id);
    if (!container) co_return no_container(request.container_id);
    cri::ContainerStatusResponse response;
    response.status = status_of(*container);
    if (!container->record.config.log_path.empty()) {
        if (const auto sandbox = impl_->sandboxes.find(container->record.sandbox_id))
            response.status->log_path = sandbox->record.config.log_directory + "\\" + container->record.config.log_path;
    }
    co_return response;
}

Task<cri::UpdateContainerResourcesResponse> Runtime::update_container_resources(cri::UpdateContainerResourcesRequest request) {
    if (!request.windows) co_return Error(Reason::BadRequest, "resources for Windows are missing");
    CO_TRY_VOID(co_await impl_->containers.update(request.container_id, *request.windows));
    co_return cri::UpdateContainerResourcesResponse{};
}

Task<cri::ReopenContainerLogResponse> Runtime::reopen_container_log(cri::ReopenContainerLogRequest request) {
    CO_TRY(const std::string socket, container_socket(request.container_id));
    CO_TRY_VOID(co_await ask_init(impl_->context.loop, socket, init_request({"reopen"})));
    co_return cri::ReopenContainerLogResponse{};
}

namespace {

Task<cri::ExecSyncResponse> run_to_end(AsioLoop& loop, std::string socket, std::string spec) {
    CO_TRY(const auto connection, co_await InitConnection::open(loop, std::move(socket)));
    CO_TRY_VOID(co_await connection->send(FrameType::Request, init_request({"exec", "0", "0"}) + spec));
    cri::ExecSyncResponse response;
    const auto keep = [](std::string& all, const std::string& more) {
        all.append(more, 0, LargestExecOutput - std::min(all.size(), LargestExecOutput));
    };
    for (;;) {
        CO_TRY(const Frame frame, co_await connection->next());
        if (frame.type == FrameType::Output) keep(response.stdout, frame.payload);
        if (frame.type == FrameType::Errors) keep(response.stderr, frame.payload);
        if (frame.type == FrameType::Failed) co_return error_of_failure(frame.payload).with_context("failed to exec in container");
        if (frame.type != FrameType::Exit) continue;
        response.exit_code = static_cast<std::int32_t>(frame.number());
        co_return response;
    }
}

}  // namespace

Task<cri::ExecSyncResponse> Runtime::exec_sync(cri::ExecSyncRequest request) {
    if (request.cmd.empty()) co_return Error(Reason::BadRequest, "a command is needed");
    CO_TRY(const std::string socket, container_socket(request.container_id));
    CO_TRY(const std::string spec, exec_spec(request.container_id, request.cmd));
    auto run = run_to_end(impl_->context.loop, socket, spec);
    if (request.timeout <= 0) co_return co_await std::move(run);
    // When the time is up the connection is dropped, and init ends the program.
    auto result = co_await with_timeout(std::move(run), std::chrono::seconds(request.timeout), "exec");
    if (!result && result.error().reason == Reason::Timeout)
        co_return Error(Reason::Timeout, "failed to exec in container: timeout " + std::to_string(request.timeout) +
                                             "s exceeded: context deadline exceeded");
    co_return result;
}

Task<cri::ExecResponse> Runtime::exec(cri::ExecRequest request) {
    if (!impl_->streams) co_return Error(Reason::Unavailable, "streams are not served");
    if (request.cmd.empty()) co_return Error(Reason::BadRequest, "a command is needed");
    CO_TRY_VOID(container_socket(request.container_id));
    co_return cri::ExecResponse{.url = impl_->streams->exec(std::move(request))};
}

Task<cri::AttachResponse> Runtime::attach(cri::AttachRequest request) {
    if (!impl_->streams) co_return Error(Reason::Unavailable, "streams are not served");
    CO_TRY_VOID(container_socket(request.container_id));
    co_return cri::AttachResponse{.url = impl_->streams->attach(std::move(request))};
}

Task<cri::PortForwardResponse> Runtime::port_forward(cri::PortForwardRequest request) {
    if (!impl_->streams) co_return Error(Reason::Unavailable, "streams are not served");
    CO_TRY_VOID(sandbox_socket(request.pod_sandbox_id));
    co_return cri::PortForwardResponse{.url = impl_->streams->port_forward(std::move(request))};
}

Task<cri::ListContainerStatsResponse> Runtime::list_container_stats(cri::ListContainerStatsRequest request) {
    CO_TRY_VOID(co_await impl_->statistics.look());
    cri::ListContainerStatsResponse response;
    for (const auto& [id, container] : impl_->containers.all()) {
        if (!container->running()) continue;
        if (request.filter) {
            if (!request.filter->id.empty() && request.filter->id != id) continue;
            if (!request.filter->pod_sandbox_id.empty() && request.filter->pod_sandbox_id != container->record.sandbox_id) continue;
            if (!matches(request.filter->label_selector, container->record.config.labels)) continue;
        }
        response.stats.push_back(impl_->statistics.container(*container));
    }
    co_return response;
}

Task<cri::ListPodSandboxStatsResponse> Runtime::list_pod_sandbox_stats(cri::ListPodSandboxStatsRequest request) {
    CO_TRY_VOID(co_await impl_->statistics.look());
    cri::ListPodSandboxStatsResponse response;
    for (const auto& [id, sandbox] : impl_->sandboxes.all()) {
        if (!sandbox->record.ready) continue;
        if (request.filter) {
            if (!request.filter->id.empty() && request.filter->id != id) continue;
            if (!matches(request.filter->label_selector, sandbox->record.config.labels)) continue;
        }
        response.stats.push_back(impl_->statistics.sandbox(*sandbox));
    }
    co_return response;
}

Task<cri::UpdateRuntimeConfigResponse> Runtime::update_runtime_config(cri::UpdateRuntimeConfigRequest request) {
    co_return cri::UpdateRuntimeConfigResponse{};
}

}  // namespace porthole::winhost
