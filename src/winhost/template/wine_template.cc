#include "winhost/template/wine_template.h"
#include "base/result.h"
#include "runtime/files/file_lock.h"
#include "runtime/files/mounts.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "winhost/bundle/cgroup.h"
#include "winhost/bundle/runc.h"
#include "winhost/template/root_builder.h"
#include "winhost/template/slow_start.h"
#include "winhost/template/unused_templates.h"

namespace porthole::winhost {
namespace {

using namespace std::chrono_literals;

std::map<std::string, std::string> first_environment() {
    return {{"WINEPREFIX", "/wine"},
            {"HOME", "/wine"},
            {"WINEDEBUG", "-all"},
            {"LANG", "C.UTF-8"},
            {"WINESERVER", "/usr/lib/wine/wineserver64"},
            {"WINEDLLOVERRIDES", "mscoree,mshtml,winemenubuilder.exe="}};
}

Task<> wait_for_file(TemplateContext context, std::string path) {
    while (!context.files.exists(path)) CO_TRY_VOID(co_await context.loop.sleep(100ms));
    co_return {};
}

/// Lets Wine make its prefix, in namespaces of its own and with few processes.
Task<> make_prefix(TemplateContext context, std::string building, std::string root, bool with_32_bit) {
    const std::string state = join_path(building, "runc"), bundle_folder = join_path(building, "bundle"),
                      exchange = join_path(building, "exchange");
    CO_TRY_VOID(context.files.create_directories(bundle_folder, 0700));
    CO_TRY_VOID(context.files.create_directories(exchange, 0700));
    using namespace std::string_literals;
    CO_TRY_VOID(context.files.write(join_path(exchange, "main"), "command\0cmd.exe /c exit 0\0"s, 0600));
    OciBundle bundle;
    bundle.rootfs = root;
    bundle.arguments = {"/porthole/init", "--socket", "/.ph/s", "--main", "/.ph/main", "--exit-file", "/.ph/exit", "--keep-registry"};
    bundle.environment = first_environment();
    bundle.hostname = "template";
    bundle.cgroup_path = "/porthole-template/" + base_name(building);
    bundle.mounts = {{exchange, "/.ph"}};
    bundle.limits.processes = 200;
    bundle.with_32_bit = with_32_bit;
    const std::string id = "porthole-template-" + std::to_string(::getpid());
    Runc runc(context.processes, context.files, state);
    const auto started = co_await runc.start(id, bundle_folder, std::move(bundle));
    Result<void> made = started ? Result<void>() : Result<void>(started.error());
    if (made) made = co_await with_timeout(wait_for_file(context, join_path(exchange, "exit")), LongestWineStart, "making the Wine prefix");
    if (is_cancelled(made)) co_return made;
    CO_TRY_VOID(co_await runc.remove(id));
    Cgroups(context.files).remove("/porthole-template");
    CO_TRY_VOID(made);
    CO_TRY(const std::string exit, context.files.read(join_path(exchange, "exit")));
    if (!exit.starts_with("0 ")) co_return Error(Reason::Io, "Wine could not make its prefix: " + exit);
    if (!context.files.exists(join_path(root, "wine/system.reg"))) co_return Error(Reason::Io, "Wine has made no registry in its prefix");
    co_return {};
}

Task<> build(TemplateContext context, WineInstallation wine, std::string building) {
    const std::string root = join_path(building, "root");
    CO_TRY_VOID(unmount_below(building));
    CO_TRY_VOID(context.files.remove_all(building));
    CO_TRY_VOID(context.files.create_directories(root, 0755));
    context.progress("copying Wine and its libraries");
    CommandOutput linked;
    if (wine.is_machines()) {
        Command ldd;
        ldd.arguments = wine.linked_files();
        ldd.arguments.insert(ldd.arguments.begin(), "ldd");
        CO_TRY(linked, co_await context.processes.run(std::move(ldd)));
    }
    CO_TRY_VOID(co_await run_blocking<void>(context.pool, [&] { return copy_installation(wine, linked.output, root); }));
    context.progress("making the Wine prefix");
    CO_TRY_VOID(co_await make_prefix(context, building, root, wine.has_32_bit_dlls()));
    context.progress("trimming it");
    CO_TRY_VOID(co_await run_blocking<void>(context.pool, [&] { return finish_prefix(wine, root, building); }));
    for (const char* folder : {"runc", "bundle", "exchange"}) CO_TRY_VOID(context.files.remove_all(join_path(building, folder)));
    co_return {};
}

void tell_of(const TemplateContext& context, const std::string& step, Duration since) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(since).count();
    if (context.progress) context.progress(step + ", " + std::to_string(seconds) + " s after the beginning");
}

Task<> build_in_place(TemplateContext context, WineInstallation wine, std::string cache, std::string folder) {
    const std::string building = join_path(cache, "wine-building");
    TemplateContext telling = context;
    std::string step;
    telling.progress = [&](const std::string& begun) {
        step = begun;
        if (context.progress) context.progress(step);
    };
    auto built =
        co_await with_reports(context.loop, build(telling, wine, building), [&](Duration since) { tell_of(context, step, since); });
    if (!built) {
        (void)context.files.remove_all(building);
        co_return std::move(built).error().with_context("building the template of emulated Windows hosts");
    }
    co_return context.files.rename(building, folder);
}

/// Best effort: what cannot be dropped now is tried again by the next program.
Task<> drop_unused(TemplateContext context, std::string cache) {
    const std::string mounts = context.files.read("/proc/self/mountinfo").value_or("");
    for (const std::string& folder : find_unused_templates(context.files, cache, mounts, context.loop.wall_now())) {
        auto dropped = co_await run_blocking<void>(context.pool, [&] { return drop_template(context.files, folder); });
        if (is_cancelled(dropped)) co_return std::move(dropped).error();
    }
    co_return {};
}

}  // namespace

std::vector<std::string> WineTemplate::lowers(const HostProfile& profile) const {
    return {join_path(folder, "profile-" + profile.name), join_path(folder, "root")};
}

Result<void> check_wine_root(const std::string& wine_root) { return WineInstallation{wine_root}.check(); }

Task<WineTemplate> ensure_wine_template(TemplateContext context, std::string cache, std::string wine_root) {
    const WineInstallation wine{std::move(wine_root)};
    CO_TRY_VOID(wine.check());
    const std::string id = wine.fingerprint().substr(0, 12);
    const WineTemplate result{join_path(cache, "wine-" + id), id, wine.version(), wine.has_32_bit_dlls()};
    CO_TRY_VOID(context.files.create_directories(cache, 0700));
    // Held while it is looked whether the template is there, and it is built if not.
    auto taken = run_blocking<FileLock>(context.pool, [&] { return FileLock::take(join_path(cache, "wine-lock")); });
    CO_TRY(const FileLock lock, co_await with_reports(context.loop, std::move(taken), [&](Duration since) {
               tell_of(context, "waiting for another program that builds it", since);
           }));
    if (!context.files.exists(result.folder)) CO_TRY_VOID(co_await build_in_place(context, wine, cache, result.folder));
    CO_TRY_VOID(mark_used(context.files, result.folder));
    CO_TRY_VOID(co_await drop_unused(context, cache));
    co_return result;
}

std::string default_cache_folder() {
    const char* cache = std::getenv("XDG_CACHE_HOME");
    if (cache && *cache) return join_path(cache, "porthole");
    const char* home = std::getenv("HOME");
    return join_path(home && *home ? home : "/root", ".cache/porthole");
}

}  // namespace porthole::winhost
