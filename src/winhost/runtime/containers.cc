#include "winhost/runtime/containers.h"
#include "base/result.h"
#include "runtime/files/mounts.h"

#include <unistd.h>

#include <algorithm>

#include "winhost/bundle/held_tree.h"
#include "winhost/runtime/container_registry.h"
#include "winhost/runtime/pipe_mounts.h"

namespace porthole::winhost {
namespace {

using namespace std::chrono_literals;
using State = cri::ContainerState;

constexpr std::size_t ExitFileLimit = 4096;  ///< bytes; the container may write what it likes there
constexpr std::int32_t StartFailed = 128, Killed = 137;
constexpr const char* RegistryCache = "registry";  ///< below the data directory
constexpr Duration StartLimit = 90s, KillLimit = 30s, PipesLimit = 30s, RelayPause = 1s;

int processors() { return static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN)); }

/// For programs that ask their job.
Result<void> show_limits(const Folder& folder, const cri::WindowsContainerResources* resources) {
    TRY(const HeldTree exchange, HeldTree::open(folder.exchange()));
    return exchange.write("limits", plan_job_limits(resources, processors()), 0600);
}

/// `failure`: as init tells it, "CODE TEXT".
Error start_error(const ContainerRecord& record, const std::string& failure) {
    return error_of_failure(failure).with_context("hcs::System::CreateProcess " + short_id(record.id) + ": failed to start \"" +
                                                  ProgramSpec::decode(record.spec).command_line + "\"");
}

}  // namespace

std::shared_ptr<Container> Containers::find(const std::string& id) const {
    const auto found = containers_.find(id);
    return found == containers_.end() ? nullptr : found->second;
}

std::string Containers::cgroup(const Container& container) const {
    return sandboxes_.cgroup(container.record.sandbox_id) + "/" + short_id(container.record.id);
}

/// The commit limit without what the containers of this host have taken of it so far.
std::optional<std::uint64_t> Containers::commit_left() const {
    const auto meminfo = context_.files.read("/proc/meminfo");
    const auto limit = meminfo ? commit_limit(*meminfo) : std::nullopt;
    if (!limit) return std::nullopt;
    std::uint64_t taken = 0;
    for (const auto& [id, container] : containers_)
        if (const auto usage = container->running() ? cgroups_.usage(cgroup(*container)) : Result<CgroupUsage>(CgroupUsage()))
            taken += usage->anonymous_bytes;
    return *limit - std::min(taken, *limit);
}

Result<void> Containers::save(const Container& container) {
    return context_.files.write(container.folder.record(), container.record.encode(), 0600);
}

Task<> Containers::load() {
    const std::string folder = join_path(options_.data, "c");
    CO_TRY_VOID(context_.files.create_directories(folder, 0700));
    CO_TRY(const auto names, context_.files.list(folder));
    for (const std::string& name : names) {
        const Folder own{join_path(folder, name)};
        auto text = context_.files.read(own.record());
        auto record = text ? ContainerRecord::decode(*text) : Result<ContainerRecord>(text.error());
        if (!record) {
            context_.log.warn("a container without a record is cleaned up", {{"folder", name}});
            CO_TRY_VOID(co_await runc_.remove(name));
            CO_TRY_VOID(unmount_below(own.path));
            (void)context_.files.remove_all(own.path);
            continue;
        }
        auto container = std::make_shared<Container>();
        container->record = *std::move(record);
        container->folder = own;
        container->hold = context_.images.hold(container->record.lower_folders);
        containers_[container->record.id] = container;
        if (container->running()) {
            CO_TRY_VOID(co_await adopt(container));
        } else if (container->record.state == State::ContainerCreated) {
            CO_TRY_VOID(co_await take_down(container));  // the last run may have ended in the middle of its start
        }
    }
    co_return drop_unused_registries();
}

Task<> Containers::adopt(std::shared_ptr<Container> container) {
    auto connection = co_await listen(container);
    if (!connection) co_return co_await finish(container);
    scope_.spawn(monitor(container, *std::move(connection)));
    CO_TRY(auto pipes, plan_pipe_mounts(container->record.config.mounts));
    if (!pipes.empty()) scope_.spawn(relay_pipes(container, std::move(pipes)));
    co_return {};
}

Result<ContainerRecord> Containers::make_record(const cri::CreateContainerRequest& request, const Sandbox& sandbox, const Image& image) {
    ContainerRecord record;
    record.id = context_.random.pick(64, "0123456789abcdef");
    record.sandbox_id = request.pod_sandbox_id;
    record.config = *request.config;
    record.image_id = image.id;
    record.image_ref = image.repo_digests.empty() ? image.id : image.repo_digests.front();
    if (!image.repo_tags.empty()) record.image_name = image.repo_tags.front();
    record.lower_folders = image.lower_folders;
    record.created_at = wall_nanoseconds(context_.loop);
    if (is_host_process(record.config) != sandbox.record.is_host_process())
        return Error(Reason::BadRequest, "a pod cannot mix HostProcess containers with other containers");
    TRY(ProgramSpec spec, plan_program(record.config, image.config, sandbox.record.config.hostname));
    spec.ends_services = true;
    record.spec = spec.encode();
    TRY(record.stop_event, plan_stop_event(record.config.stop_signal, image.config.stop_signal));
    const auto user = plan_user(record.config, image.config);
    if (!user) record.start_error = user.error().message;  // as Windows does: it can be made, but not be started
    record.contained_user = user && *user == ContainerUser::User;
    return record;
}

Task<std::string> Containers::create(cri::CreateContainerRequest request) {
    const auto sandbox = sandboxes_.find(request.pod_sandbox_id);
    if (!sandbox) co_return Error(Reason::NotFound, "failed to find sandbox id \"" + request.pod_sandbox_id + "\"");
    if (!request.config || !request.config->image) co_return Error(Reason::BadRequest, "the container's configuration has no image");
    const std::string reference = request.config->image->image;
    const Image* image = context_.images.find(reference);
    if (!image) co_return Error(Reason::NotFound, "failed to resolve image \"" + reference + "\": not found");
    CO_TRY(const OsVersion host, OsVersion::parse(options_.profile.version()));
    if (std::string why = os_mismatch(image->config.os_version, host); !why.empty()) co_return Error(Reason::Invalid, std::move(why));
    auto container = std::make_shared<Container>();
    CO_TRY(container->record, make_record(request, *sandbox, *image));
    container->folder = Folder{join_path(join_path(options_.data, "c"), short_id(container->record.id))};
    container->hold = context_.images.hold(container->record.lower_folders);
    CO_TRY_VOID(context_.files.create_directories(join_path(container->folder.exchange(), "log"), 0700));
    CO_TRY_VOID(options_.users.give(container->folder.exchange()));
    CO_TRY_VOID(options_.users.give(join_path(container->folder.exchange(), "log")));
    CO_TRY_VOID(save(*container));
    containers_[container->record.id] = container;
    co_return container->record.id;
}

Task<> Containers::start(std::string id) {
    const auto container = find(id);
    if (!container) co_return Error(Reason::NotFound, "an error occurred when try to find container \"" + id + "\": not found");
    if (container->record.state != State::ContainerCreated || container->starting)
        co_return Error(Reason::Conflict, "the container is not in the created state");
    const auto sandbox = sandboxes_.find(container->record.sandbox_id);
    if (!sandbox || !sandbox->record.ready)
        co_return Error(Reason::Conflict, "sandbox container \"" + container->record.sandbox_id + "\" is not running");
    container->starting = true;
    auto started = co_await run(container, sandbox);
    container->starting = false;
    if (started) co_return {};
    ContainerRecord& record = container->record;
    if (auto down = co_await take_down(container); !down)
        context_.log.warn("a container that did not start was not removed completely",
                          {{"container", id}, {"error", down.error().message}});
    record.state = State::ContainerExited;
    record.exit_code = StartFailed;
    record.reason = "StartError";
    record.message = started.error().message;
    record.started_at = 0;
    record.finished_at = wall_nanoseconds(context_.loop);
    container->finished.set();
    CO_TRY_VOID(save(*container));
    co_return std::move(started).error();
}

Task<> Containers::run(std::shared_ptr<Container> container, std::shared_ptr<Sandbox> sandbox) {
    ContainerRecord& record = container->record;
    if (!record.start_error.empty()) co_return Error(Reason::Invalid, record.start_error);
    const std::string id = short_id(record.id);
    auto pipes = plan_pipe_mounts(record.config.mounts);
    if (!pipes) co_return std::move(pipes).error().with_context("hcs::CreateComputeSystem " + id);
    RootRequest request{
        record,        sandbox->record, container->folder, sandbox->folder, options_.wine.lowers(options_.profile), options_.host_root,
        options_.users};
    if (record.contained_user) request.template_lowers.insert(request.template_lowers.begin(), options_.wine.contained_user());
    OciBundle bundle;
    // A HostProcess container has the host's registry.
    if (!is_host_process(record.config)) CO_TRY_VOID(co_await merge_hives(record, request.template_lowers));
    CO_TRY(bundle.mounts, prepare_root(context_.files, request));
    CO_TRY(const HeldTree exchange, HeldTree::open(container->folder.exchange()));
    CO_TRY_VOID(exchange.write("main", record.spec, 0600));
    bundle.rootfs = container->folder.rootfs();
    bundle.user_namespace = options_.users.user_namespace();
    bundle.arguments = {"/porthole/init", "--socket", "/.ph/s", "--main", "/.ph/main", "--exit-file", "/.ph/exit"};
    CO_TRY(const std::string log, mount_log(context_.files, request, bundle.mounts));
    if (!log.empty()) bundle.arguments.insert(bundle.arguments.end(), {"--log", log});
    if (record.config.tty) bundle.arguments.push_back("--tty");
    if (record.config.stdin) bundle.arguments.push_back("--input");
    if (record.config.stdin_once) bundle.arguments.push_back("--input-once");
    const cri::WindowsContainerResources* resources =
        record.config.windows && record.config.windows->resources ? &*record.config.windows->resources : nullptr;
    CO_TRY_VOID(show_limits(container->folder, resources));
    const ContainerLimits limits = plan_limits(resources, processors(), commit_left());
    record.memory_per_process = limits.memory_per_process;
    if (limits.memory_per_process > 0)
        bundle.arguments.insert(bundle.arguments.end(), {"--data-limit", std::to_string(limits.memory_per_process)});
    bundle.limits = limits.cgroup;
    bundle.limits.processes = options_.process_limit;
    bundle.with_32_bit = options_.wine.with_32_bit;
    bundle.environment = wine_environment(sandbox->record.runtime_handler == "wine-light");
    bundle.network_namespace_path = sandboxes_.network_path(*sandbox);
    const std::string spaces = "/proc/" + std::to_string(sandbox->pid) + "/ns/";
    bundle.ipc_namespace_path = spaces + "ipc";
    bundle.uts_namespace_path = spaces + "uts";
    bundle.cgroup_path = cgroup(*container);
    // A service of the image, which starts with Wine, could see that it has one processor only.
    if (record.registry_folder.empty()) bundle.arguments.push_back("--one-processor");
    if (!pipes->empty()) bundle.arguments.push_back("--held");
    CO_TRY_VOID(co_await runc_.start(id, container->folder.path, std::move(bundle)));
    if (!pipes->empty()) CO_TRY_VOID(co_await begin_with_pipes(container, *std::move(pipes)));
    auto started = co_await wait_for_program(container);
    if (is_cancelled(started)) co_return started.error();
    // A program can end, or fail to start, before the runtime has listened: what init left then tells how.
    const auto end = started ? std::nullopt : read_exit_file(*container);
    if (!started && !end) co_return started.error();
    if (end && !end->failure.empty()) co_return start_error(record, end->failure);
    record.state = State::ContainerRunning;
    record.started_at = wall_nanoseconds(context_.loop);
    if (end) record.started_at = std::min(record.started_at, std::max(end->time, record.created_at));
    CO_TRY_VOID(save(*container));
    scope_.spawn(end ? finish(container) : monitor(container, *std::move(started)));
    co_return {};
}

Task<> Containers::merge_hives(ContainerRecord& record, std::vector<std::string> templates) {
    const RegistryRequest request{.layers = record.lower_folders,
                                  .templates = std::move(templates),
                                  .user = record.contained_user ? "ContainerUser" : "ContainerAdministrator",
                                  .cache = join_path(options_.data, RegistryCache)};
    CO_TRY(MergedRegistry merged, co_await run_blocking<MergedRegistry>(context_.pool, [&] { return merge_registry(request); }));
    for (const std::string& what : merged.left_out)
        context_.log.warn("a registry hive of an image is left out", {{"image", record.image_name}, {"hive", what}});
    record.registry_folder = std::move(merged.folder);
    co_return {};
}

/// A container of an earlier run may have its registry there still.
Result<void> Containers::drop_unused_registries() {
    const std::string cache = join_path(options_.data, RegistryCache);
    if (!context_.files.exists(cache)) return {};
    TRY(const auto names, context_.files.list(cache));
    for (const std::string& name : names) {
        const bool is_used =
            std::ranges::any_of(containers_, [&](const auto& one) { return base_name(one.second->record.registry_folder) == name; });
        if (!is_used) TRY_VOID(context_.files.remove_all(join_path(cache, name)));
    }
    return {};
}

/// A conversation in which the program's start was told.
Task<std::unique_ptr<InitConnection>> Containers::wait_for_program(std::shared_ptr<Container> container) {
    CO_TRY(auto connection, co_await listen(container));
    CO_TRY(const Frame first, co_await with_timeout(connection->next(), StartLimit, "starting the program under Wine"));
    if (first.type == FrameType::Failed) co_return start_error(container->record, first.payload);
    co_return connection;
}

Task<std::unique_ptr<InitConnection>> Containers::connect(std::shared_ptr<Container> container) {
    Result<std::unique_ptr<InitConnection>> opened = Error(Reason::Unavailable, "the container's init does not respond");
    // A fresh init needs a moment until it listens; one that has ended has left its exit file.
    for (int round = 0; round < 500; ++round) {
        opened = co_await InitConnection::open(context_.loop, container->folder.socket());
        if (opened || is_cancelled(opened) || container->running() || read_exit_file(*container)) break;
        CO_TRY_VOID(co_await context_.loop.sleep(10ms));
    }
    co_return opened;
}

/// A conversation in which the program's start and end will be told.
Task<std::unique_ptr<InitConnection>> Containers::listen(std::shared_ptr<Container> container) {
    CO_TRY(auto connection, co_await connect(container));
    CO_TRY_VOID(co_await connection->send(FrameType::Request, init_request({"wait"})));
    co_return connection;
}

Task<> Containers::begin_with_pipes(std::shared_ptr<Container> container, std::vector<PipeMount> pipes) {
    CO_TRY(const auto connection, co_await connect(container));
    scope_.spawn(relay_pipes(container, std::move(pipes)));
    const auto looked = co_await with_timeout(container->has_pipes.wait(), PipesLimit, "showing the host's named pipes");
    if (is_cancelled(looked)) co_return looked.error();
    if (!looked)
        context_.log.warn("a container starts before its named pipes",
                          {{"container", container->record.id}, {"error", looked.error().message}});
    co_return co_await ask_init(context_.loop, container->folder.socket(), init_request({"begin"}));
}

Task<> Containers::relay_pipes(std::shared_ptr<Container> container, std::vector<PipeMount> pipes) {
    Logger log = context_.log.named("pipes");
    while (container->starting || container->running()) {
        PipeRelay relay(context_.loop, log, {container->folder.socket(), options_.host_socket, pipes});
        const auto ended = co_await relay.run(container->has_pipes);
        if (is_cancelled(ended)) co_return ended.error();
        if (!ended && container->running())
            log.warn("the host's named pipes are not available", {{"container", container->record.id}, {"error", ended.error().message}});
        container->has_pipes.set();  // where the host does not answer it has no pipes
        CO_TRY_VOID(co_await context_.loop.sleep(RelayPause));
    }
    co_return {};
}

Task<> Containers::monitor(std::shared_ptr<Container> container, std::unique_ptr<InitConnection> connection) {
    for (;;) {
        const auto frame = co_await connection->next();
        if (is_cancelled(frame)) co_return frame.error();
        if (!frame || frame->type == FrameType::Exit) break;
    }
    co_return co_await finish(container);
}

std::optional<ProgramEnd> Containers::read_exit_file(const Container& container) const {
    const auto text = context_.files.read_untrusted(container.folder.exit_file(), 0, ExitFileLimit);
    return text ? parse_program_end(*text) : std::nullopt;
}

/// Without an exit file the container was killed.
void Containers::read_end(Container& container) {
    ContainerRecord& record = container.record;
    const auto end = read_exit_file(container);
    record.finished_at = wall_nanoseconds(context_.loop);
    if (end) record.finished_at = std::min(std::max(end->time, record.started_at), record.finished_at);
    record.exit_code = end ? end->code : Killed;
    record.reason = "Error";
    if (record.exit_code == 0) record.reason = "Completed";
    if (const auto usage = cgroups_.usage(cgroup(container)); usage && usage->out_of_memory_kills > 0 && record.exit_code != 0)
        record.reason = "OOMKilled";
}

Task<> Containers::finish(std::shared_ptr<Container> container) {
    // The exit file is written before the end is told; a killed container has none, and nothing to wait for.
    read_end(*container);
    container->record.state = State::ContainerExited;
    auto down = co_await take_down(container);
    if (!down)
        context_.log.warn("an ended container was not removed completely",
                          {{"container", container->record.id}, {"error", down.error().message}});
    auto saved = save(*container);
    container->finished.set();
    co_return saved;
}

Task<> Containers::take_down(std::shared_ptr<Container> container) {
    CO_TRY_VOID(co_await runc_.remove(short_id(container->record.id)));
    CO_TRY_VOID(unmount_below(container->folder.path));
    cgroups_.remove(cgroup(*container));
    co_return {};
}

Task<> Containers::stop(std::string id, Duration grace) {
    const auto container = find(id);
    if (!container || !container->running()) co_return {};
    if (grace > Duration::zero() && container->record.stop_event != "kill") {
        const auto asked =
            co_await ask_init(context_.loop, container->folder.socket(), init_request({"event", container->record.stop_event}));
        if (asked) {
            const auto ended = co_await with_timeout(container->finished.wait(), grace, "the grace period");
            if (ended || ended.error().reason != Reason::Timeout) co_return ended;
        } else if (is_cancelled(asked)) {
            co_return asked.error();
        }
    }
    CO_TRY_VOID(co_await runc_.kill(short_id(id), "KILL"));
    co_return co_await with_timeout(container->finished.wait(), KillLimit, "killing the container");
}

Task<> Containers::remove(std::string id) {
    const auto container = find(id);
    if (!container) co_return {};
    if (container->starting) co_return Error(Reason::Conflict, "the container is being started");
    CO_TRY_VOID(co_await stop(id, Duration::zero()));
    CO_TRY_VOID(co_await take_down(container));
    CO_TRY_VOID(context_.files.remove_all(container->folder.path));
    containers_.erase(id);
    co_return {};
}

Task<> Containers::update(std::string id, cri::WindowsContainerResources resources) {
    const auto container = find(id);
    if (!container) co_return Error(Reason::NotFound, "container \"" + id + "\" not found");
    ContainerLimits limits = plan_limits(&resources, processors());
    limits.cgroup.processes = options_.process_limit;
    if (container->running()) {
        CO_TRY_VOID(co_await runc_.update(short_id(id), limits.cgroup));
        CO_TRY_VOID(show_limits(container->folder, &resources));
    }
    if (!container->record.config.windows) container->record.config.windows.emplace();
    container->record.config.windows->resources = resources;
    co_return save(*container);
}

}  // namespace porthole::winhost
