#include <malloc.h>
#include <signal.h>

#include <cstdio>
#include <filesystem>

#include "cmd/program/flags.h"
#include "cmd/program/runtime_setup.h"
#include "cmd/winhost/host_exec.h"
#include "cmd/winhost/host_pods.h"
#include "runtime/files/file_system.h"
#include "schema/json/json.h"
#include "winhost/bundle/container_folder.h"
#include "winhost/host/control.h"
#include "winhost/host/host_container.h"
#include "winhost/host/windows_host.h"
#include "winhost/runtime/program_spec.h"
#include "winhost/template/wine_template.h"

namespace porthole::cmd {
namespace {

namespace fs = std::filesystem;
using schema::Value;

struct WinhostOptions {
    std::string name = "windows-1", profile = "2022", data, programs, cache = winhost::default_cache_folder();
    std::string archive, fault, directory, pause_image, wine_root;
    std::vector<std::string> command, variables;
    std::vector<std::string> insecure_registries;
};

/// The Windows build lies beside the Linux one in a source tree; packages put it below /usr/lib. "" where there is none.
std::string find_programs() {
    std::error_code code;
    const fs::path self = fs::read_symlink("/proc/self/exe", code).parent_path();
    for (const fs::path& folder : {self / "../../windows/bin", self / "../lib/porthole/windows", fs::path("/usr/lib/porthole/windows")})
        if (fs::exists(folder / "porthole.exe", code)) return fs::canonical(folder, code).string();
    return "";
}

std::string absolute(const std::string& path) {
    std::error_code ignored;  // of a working directory that has gone
    return fs::absolute(path, ignored).lexically_normal().string();
}

/// Images and templates pass through large buffers. Left to itself the allocator keeps tens of megabytes of them for the next time.
void give_back_large_buffers() {
    constexpr int Large = 256 << 10;
    ::mallopt(M_MMAP_THRESHOLD, Large);
    ::mallopt(M_TRIM_THRESHOLD, Large);
}

int run_host(WinhostOptions options) {
    ::signal(SIGPIPE, SIG_IGN);
    give_back_large_buffers();
    RealWorld world;
    SystemRandom random;
    const auto files = make_file_system();
    Logger log(make_stderr_sink(LogLevel::Info), "winhost");
    auto profile = winhost::find_host_profile(options.profile);
    if (!profile) return fail(profile.error().message);
    const auto registries = winhost::make_registry_client(world.loop, {.plain_http = options.insecure_registries});
    winhost::WindowsHostOptions wanted{.name = options.name, .profile = *std::move(profile), .data = absolute(options.data)};
    wanted.programs = options.programs.empty() ? find_programs() : absolute(options.programs);
    if (wanted.programs.empty())
        return fail(
            "the Windows programs (kubelet.exe and so on) are neither next to this one nor in /usr/lib/porthole/windows; name their "
            "directory with --programs DIR");
    wanted.cache = absolute(options.cache);
    if (!options.wine_root.empty()) wanted.wine_root = absolute(options.wine_root);
    if (!options.pause_image.empty()) wanted.pause_image = options.pause_image;
    if (auto made = files->create_directories(wanted.data, 0700); !made) return fail(made.error().message);
    winhost::WindowsHost host({world.loop, *world.processes, *files, *world.pool, random, *registries, log}, std::move(wanted));
    Event stop;
    world.loop.on_signal([&](int) { stop.set(); });
    Scope scope(world.loop);
    const auto started = world.run(host.start());
    if (started) {
        scope.spawn([](winhost::WindowsHost& running, Event& wanted_stop) -> Task<> {
            CO_TRY_VOID(co_await running.wait_for_shutdown());
            wanted_stop.set();
            co_return {};
        }(host, stop));
        (void)world.run(stop.wait());
    }
    (void)world.run(scope.close());
    const auto ended = world.run(host.power_off());
    if (!started) return fail(started.error().message);
    return ended ? 0 : fail(ended.error().message);
}

int run_cleanup(const WinhostOptions& options) {
    RealWorld world;
    SystemRandom random;
    const auto files = make_file_system();
    const auto registries = winhost::make_registry_client(world.loop, {});
    Logger log(make_stderr_sink(LogLevel::Warn), "winhost");
    const auto done = world.run(winhost::clean_up_host({world.loop, *world.processes, *files, *world.pool, random, *registries, log},
                                                       options.name, absolute(options.data)));
    return done ? 0 : fail(done.error().message);
}

int run_exec(const WinhostOptions& options) {
    const auto spec =
        winhost::host_program_spec(winhost::join_command_line(options.command), options.directory, options.variables).encode();
    return exec_on_host(winhost::Folder::of_host(absolute(options.data)).socket(), spec);
}

/// Prints the answer; 0 where it says so, or says nothing of readiness.
int ask(const WinhostOptions& options, Value request) {
    RealWorld world;
    const auto answer = world.run(winhost::ask_host(world.loop, absolute(options.data), std::move(request)));
    if (!answer) return fail(answer.error().message);
    if (!answer->is_object() || !answer->as_object().empty()) std::printf("%s\n", schema::to_json(*answer).c_str());
    const Value* ready = answer->find("ready");
    return ready && !ready->bool_or(false) ? 1 : 0;
}

/// Prints a name a line; none for an archive without images for this host.
int run_load(const WinhostOptions& options) {
    RealWorld world;
    const auto answer = world.run(
        winhost::ask_host(world.loop, absolute(options.data), Value::object({{"call", "load"}, {"path", absolute(options.archive)}})));
    if (!answer) return fail(answer.error().message);
    const Value* images = answer->find("images");
    if (images && images->is_array())
        for (const Value& name : images->as_array()) std::printf("%s\n", std::string(name.string_or("")).c_str());
    return 0;
}

}  // namespace

int run_winhost(std::vector<std::string> arguments) {
    WinhostOptions options;
    CLI::App app("Run an emulated Windows host in this network namespace, or control a running one.", "winhost");
    app.require_subcommand(1);
    const auto add = [&](const char* name, const char* summary) {
        CLI::App* command = app.add_subcommand(name, summary);
        command->add_option("--data", options.data, "the host's data directory")->required();
        return command;
    };
    CLI::App* run = add("run", "run the host until SIGTERM, which powers it off");
    run->add_option("--name", options.name, "the host's computer name")->capture_default_str();
    run->add_option(
           "--profile", options.profile,
           "the Windows Server release to emulate: 2016, 1709, 1803, 2019, 1809 (2019 before its later updates), 1903, 2004, 20H2, 19551 "
           "(a preview), 2022 or 2025; nodes are possible from 2019 on")
        ->capture_default_str();
    run->add_option("--programs", options.programs, "directory of the Windows programs to place on it");
    run->add_option("--cache", options.cache, "directory of the Wine template")->capture_default_str();
    run->add_option("--wine-root", options.wine_root,
                    "directory with the Wine for the containers of pods, as packaging/wine_root.py makes it (default: the installed Wine)");
    run->add_option("--pause-image", options.pause_image, "sandbox image of pods instead of Porthole's own");
    run->add_option("--insecure-registry", options.insecure_registries, "registries that are accessed without TLS");
    CLI::App* clean = add("cleanup", "remove leftovers of a killed host: processes, mounts, cgroups, namespaces");
    clean->add_option("--name", options.name, "the host's computer name")->capture_default_str();
    CLI::App* exec = add("exec", "run a program on the host, with this command's standard streams and its exit code");
    exec->add_option("--workdir", options.directory, "working directory (default: C:\\)");
    exec->add_option("--env", options.variables, "NAME=VALUE to add to its environment");
    exec->add_option("command", options.command, "COMMAND [ARGUMENT...]")->required();
    exec->prefix_command();
    CLI::App* pods = add("ps", "list the containers of pods: infrastructure and workers");
    CLI::App* status = add("status", "print its state as JSON; the exit code is 0 if it is ready");
    CLI::App* reboot = add("reboot", "stop everything on the host and start it again");
    CLI::App* shutdown = add("shutdown", "power it off");
    CLI::App* load = add("load", "import images from an archive");
    load->add_option("archive", options.archive, "docker or OCI archive")->required();
    CLI::App* fault = add("fault", "inject faults into its host network service");
    fault->add_option("document", options.fault, "JSON; {} prints the active faults")->required();
    if (const auto code = parse_flags(app, std::move(arguments))) return *code;

    if (run->parsed()) return run_host(std::move(options));
    if (clean->parsed()) return run_cleanup(options);
    if (exec->parsed()) return run_exec(options);
    if (pods->parsed()) return print_pods(join_path(absolute(options.data), "cri.sock"));
    if (status->parsed()) return ask(options, Value::object({{"call", "status"}}));
    if (reboot->parsed()) return ask(options, Value::object({{"call", "reboot"}}));
    if (shutdown->parsed()) return ask(options, Value::object({{"call", "shutdown"}}));
    if (load->parsed()) return run_load(options);
    if (fault->parsed()) return ask(options, Value::object({{"call", "fault"}, {"document", options.fault}}));
    return 2;
}

}  // namespace porthole::cmd
