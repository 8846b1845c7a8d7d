#include "winhost/host/host_container.h"
#include "base/result.h"
#include "runtime/files/mounts.h"

#include <unistd.h>

#include <algorithm>

#include "winhost/bundle/held_tree.h"
#include "winhost/bundle/overlay.h"
#include "winhost/host/host_disk.h"
#include "winhost/host/program_files.h"
#include "winhost/runtime/container_root.h"
#include "winhost/template/slow_start.h"

namespace porthole::winhost {
namespace {

using namespace std::chrono_literals;

constexpr const char* Id = "host";
constexpr const char* TokenFile = "TOKEN_FILE=C:\\ProgramData\\Porthole\\token";
/// A node's own programs need tens of processes; a storm of them must not reach the machine.
constexpr std::int64_t ProcessLimit = 1024;
constexpr std::int64_t MemoryLimit = std::int64_t{4} << 30;

}  // namespace

ProgramSpec host_program_spec(const std::string& command_line, const std::string& directory, const std::vector<std::string>& variables) {
    ProgramSpec spec{command_line, directory.empty() ? "C:\\" : directory, variables};
    return spec;
}

HostContainer::HostContainer(HostContainerContext context, HostContainerOptions options)
    : context_(context),
      options_(std::move(options)),
      runc_(context.processes, context.files, join_path(options_.data, "runc")),
      cgroups_(context.files) {}

HostContainer::~HostContainer() = default;

std::string HostContainer::root() const { return Folder{options_.data}.rootfs(); }
std::string HostContainer::drive() const { return drive_of(root()); }
std::string HostContainer::socket() const { return Folder{options_.data}.socket(); }

Result<void> HostContainer::prepare_disk() {
    const Folder folder{options_.data};
    FileSystem& files = context_.files;
    for (const std::string& path : {folder.upper(), folder.work(), folder.rootfs()}) TRY_VOID(files.create_directories(path, 0755));
    TRY_VOID(files.create_directories(folder.exchange(), 0700));
    TRY_VOID(options_.users.give(folder.exchange()));
    const OverlayFolders layers{.lowers = options_.wine.lowers(options_.profile), .upper = folder.upper(), .work = folder.work()};
    if (!is_mounted(folder.rootfs())) TRY_VOID(mount_overlay(layers, folder.rootfs(), options_.users.owners()));
    TRY_VOID(write_host_services(folder.rootfs(), services_.host_file, services_.token));
    const std::string hosts = "127.0.0.1 localhost\n::1 localhost\n" + services_.address + " " + options_.name + "\n";
    TRY_VOID(files.write(folder.hosts(), hosts, 0644));
    TRY_VOID(files.write(folder.resolv_conf(), files.read("/etc/resolv.conf").value_or(""), 0644));
    return {};
}

Result<void> HostContainer::place_programs() {
    return options_.programs.empty() ? Result<void>() : place_program_files(options_.programs, root(), Drive);
}

Task<HostContainer::Connection> HostContainer::boot() {
    CO_TRY_VOID(co_await take_down());
    CO_TRY_VOID(prepare_disk());
    CO_TRY_VOID(co_await run_blocking<void>(context_.pool, [this] { return place_programs(); }));
    CO_TRY_VOID(prepare_registry(root(), options_.profile));
    const Folder folder{options_.data};
    (void)context_.files.remove(folder.exit_file());
    // From a boot with other users; what is there was made inside, so that it is nothing else of this machine.
    if (const std::string log = join_path(folder.exchange(), "log"); context_.files.exists(log)) CO_TRY_VOID(options_.users.give(log));
    std::string pipes = "PIPES=";
    for (const auto& [pipe, server] : services_.pipes) pipes += pipe + "=" + server + ";";
    const ProgramSpec main{"host.exe", "C:\\", {std::move(pipes), TokenFile}};
    CO_TRY(const HeldTree exchange, HeldTree::open(folder.exchange()));
    CO_TRY_VOID(exchange.write("main", main.encode(), 0600));
    OciBundle bundle;
    bundle.rootfs = folder.rootfs();
    bundle.arguments = {"/porthole/init", "--socket",        "/.ph/s", "--main",   "/.ph/main",  "--exit-file",
                        "/.ph/exit",      "--keep-registry", "--log",  "/.ph/log", "--launcher", "/porthole/host.exe"};
    bundle.environment = wine_environment(false);
    bundle.hostname = options_.name;
    bundle.network_namespace_path = "/proc/" + std::to_string(::getpid()) + "/ns/net";
    bundle.user_namespace = options_.users.user_namespace();
    bundle.cgroup_path = options_.cgroup;
    bundle.mounts = {{folder.exchange(), "/.ph"}, {folder.hosts(), "/etc/hosts"}, {folder.resolv_conf(), "/etc/resolv.conf"}};
    bundle.late_mounts = drive().substr(root().size() + 1);  // for SMB shares
    bundle.limits.processes = ProcessLimit;
    bundle.limits.memory_bytes = MemoryLimit;
    CO_TRY_VOID(co_await runc_.start(Id, folder.path, std::move(bundle)));
    const auto report = [this](Duration since) {
        const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(since).count();
        context_.log.info("the emulated host is booting", {{"host", options_.name}, {"seconds", seconds}});
    };
    auto started = with_timeout(wait_until_started(), LongestWineStart, "booting the emulated host");
    co_return co_await with_reports(context_.loop, std::move(started), report);
}

Task<HostContainer::Connection> HostContainer::wait_until_started() {
    for (;;) {
        auto connection = co_await InitConnection::open(context_.loop, socket());
        if (connection) {
            CO_TRY_VOID(co_await (*connection)->send(FrameType::Request, init_request({"wait"})));
            CO_TRY(const Frame first, co_await (*connection)->next());
            if (first.type != FrameType::Started) co_return error_of_failure(first.payload).with_context("starting the emulated host");
            co_return *std::move(connection);
        }
        if (is_cancelled(connection)) co_return std::move(connection).error();
        CO_TRY(const auto state, co_await runc_.state(Id));
        if (!state.running) co_return Error(Reason::Io, "the emulated host's first process has ended at once");
        CO_TRY_VOID(co_await context_.loop.sleep(20ms));
    }
}

/// Whatever ended it, the host starts anew, as a machine after a crash does.
Task<> HostContainer::keep_running(Connection connection) {
    Duration delay = 1s;
    for (;;) {
        while (connection) {
            const auto frame = co_await connection->next();
            if (is_cancelled(frame)) co_return frame.error();
            if (!frame || frame->type == FrameType::Exit) connection.reset();
        }
        context_.log.error("the emulated host has ended unexpectedly; starting it again", {{"host", options_.name}});
        CO_TRY_VOID(co_await context_.loop.sleep(delay));
        delay = std::min<Duration>(delay * 2, 1min);
        auto booted = co_await boot();
        if (booted) {
            connection = *std::move(booted);
        } else if (is_cancelled(booted)) {
            co_return std::move(booted).error();
        } else {
            context_.log.error("the emulated host does not boot", {{"host", options_.name}, {"error", booted.error().message}});
        }
    }
}

Task<HostContainer::Connection> HostContainer::adopt() {
    CO_TRY(const auto state, co_await runc_.state(Id));
    if (!state.running) co_return Connection();
    const auto known = read_host_services(root());
    if (!known || *known != services_.host_file) co_return Connection();
    auto started = co_await with_timeout(wait_until_started(), 10s, "adopting the emulated host");
    if (started || is_cancelled(started)) co_return started;
    co_return Connection();
}

Task<> HostContainer::start(HostServices services) {
    services_ = std::move(services);
    CO_TRY(Connection connection, co_await adopt());
    if (connection) {
        context_.log.info("adopting a running host", {{"host", options_.name}});
    } else {
        CO_TRY(connection, co_await boot());
    }
    watching_ = std::make_unique<Scope>(context_.loop);
    watching_->spawn(keep_running(std::move(connection)));
    co_return {};
}

Task<> HostContainer::close() {
    if (watching_) CO_TRY_VOID(co_await watching_->close());
    watching_.reset();
    co_return {};
}

Task<> HostContainer::take_down() {
    CO_TRY_VOID(co_await runc_.remove(Id));
    CO_TRY_VOID(unmount_below(Folder{options_.data}.rootfs()));
    cgroups_.remove(options_.cgroup);
    co_return {};
}

Task<> HostContainer::shut_down(Duration grace) {
    CO_TRY_VOID(co_await close());
    CO_TRY(const auto state, co_await runc_.state(Id));
    if (state.running) {
        const auto asked = co_await ask_init(context_.loop, socket(), init_request({"event", "6"}));
        const MonotonicTime until = context_.loop.now() + grace;
        while (asked && context_.loop.now() < until && !context_.files.exists(Folder{options_.data}.exit_file()))
            CO_TRY_VOID(co_await context_.loop.sleep(50ms));
    }
    co_return co_await take_down();
}

namespace {

std::string start_request(const HostCommand& command) {
    if (command.program.empty())
        return init_request({"exec", "0", "1"}) + host_program_spec(command.command_line, command.directory, command.variables).encode();
    std::string request = init_request({"run", command.program});
    for (const std::string& variable : command.variables) request += init_request({variable});
    return request;
}

Task<CommandOutput> converse(AsioLoop& loop, std::string socket, std::string request, std::string input) {
    CO_TRY(const auto connection, co_await InitConnection::open(loop, std::move(socket)));
    CO_TRY_VOID(co_await connection->send(FrameType::Request, std::move(request)));
    constexpr std::size_t Piece = 64 << 10;
    for (std::size_t start = 0; start < input.size(); start += Piece)
        CO_TRY_VOID(co_await connection->send(FrameType::Input, input.substr(start, Piece)));
    CO_TRY_VOID(co_await connection->send(FrameType::EndInput, ""));
    CommandOutput output;
    for (;;) {
        CO_TRY(const Frame frame, co_await connection->next());
        if (frame.type == FrameType::Output) output.output += frame.payload;
        if (frame.type == FrameType::Errors) output.errors += frame.payload;
        if (frame.type == FrameType::Failed) co_return error_of_failure(frame.payload);
        if (frame.type != FrameType::Exit) continue;
        output.exit_code = static_cast<int>(frame.number());
        co_return output;
    }
}

}  // namespace

Task<CommandOutput> HostContainer::run(HostCommand command) {
    const std::string name = command.program.empty() ? command.command_line : command.program;
    // When the time is up the connection is dropped, and init ends the program.
    auto output = co_await with_timeout(converse(context_.loop, socket(), start_request(command), std::move(command.input)), command.limit,
                                        "the program");
    if (!output) co_return std::move(output).error().with_context("running " + name + " on " + options_.name);
    co_return *std::move(output);
}

}  // namespace porthole::winhost
