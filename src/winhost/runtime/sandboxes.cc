#include "winhost/runtime/sandboxes.h"
#include "base/result.h"
#include "runtime/files/mounts.h"

#include <unistd.h>

#include "winhost/runtime/init_connection.h"

namespace porthole::winhost {

using namespace std::chrono_literals;

std::int64_t wall_nanoseconds(const Clock& clock) { return clock.wall_now().time_since_epoch().count(); }

std::shared_ptr<Sandbox> Sandboxes::find(const std::string& id) const {
    const auto found = sandboxes_.find(id);
    return found == sandboxes_.end() ? nullptr : found->second;
}

std::string Sandboxes::cgroup(const std::string& id) const { return "/porthole-winhost/" + options_.host_name + "/" + short_id(id); }

Result<void> Sandboxes::save(const Sandbox& sandbox) {
    return context_.files.write(sandbox.folder.record(), sandbox.record.encode(), 0600);
}

Task<> Sandboxes::load() {
    const std::string folder = join_path(options_.data, "s");
    CO_TRY_VOID(context_.files.create_directories(folder, 0700));
    CO_TRY(const auto names, context_.files.list(folder));
    for (const std::string& name : names) {
        const Folder own{join_path(folder, name)};
        auto text = context_.files.read(own.record());
        auto record = text ? SandboxRecord::decode(*text) : Result<SandboxRecord>(text.error());
        if (!record) {
            context_.log.warn("a sandbox without a record is cleaned up", {{"folder", name}});
            CO_TRY_VOID(co_await runc_.remove(name));
            (void)context_.files.remove_all(own.path);
            continue;
        }
        auto sandbox = std::make_shared<Sandbox>(Sandbox{.record = *std::move(record), .folder = own, .made = true});
        CO_TRY(const auto state, co_await runc_.state(name));
        sandbox->pid = state.pid;
        if (sandbox->record.ready && !state.running) sandbox->record.ready = false;
        if (sandbox->record.ready) scope_.spawn(watch(sandbox));
        sandboxes_[sandbox->record.id] = sandbox;
    }
    co_return {};
}

Task<std::string> Sandboxes::run(cri::RunPodSandboxRequest request) {
    auto sandbox = std::make_shared<Sandbox>();
    SandboxRecord& record = sandbox->record;
    record.id = context_.random.pick(64, "0123456789abcdef");
    if (request.config) record.config = *request.config;
    record.runtime_handler = request.runtime_handler;
    record.created_at = wall_nanoseconds(context_.loop);
    sandbox->folder = Folder{join_path(join_path(options_.data, "s"), short_id(record.id))};
    sandbox->changing = true;
    CO_TRY_VOID(context_.files.create_directories(sandbox->folder.exchange(), 0700));
    CO_TRY_VOID(options_.users.give(sandbox->folder.exchange()));
    CO_TRY_VOID(save(*sandbox));
    sandboxes_[record.id] = sandbox;
    auto up = co_await bring_up(sandbox);
    sandbox->changing = false;
    sandbox->made = up.has_value();
    if (up) co_return record.id;
    // Uncancellable in effect: what is left would be found at the next start.
    if (auto undone = co_await remove(record.id); !undone) {
        sandbox->made = true;  // the kubelet shall take it down
        context_.log.warn("a failed sandbox was not removed completely", {{"error", undone.error().message}});
    }
    co_return std::move(up).error();
}

/// Its build is what the host's kernel would look at: pods hang in ContainerCreating with just this cause.
Task<> Sandboxes::ensure_image() {
    if (options_.sandbox_image.empty() || context_.images.find(options_.sandbox_image)) co_return {};
    auto pulled = co_await context_.images.pull(options_.sandbox_image, Credentials());
    if (!pulled) {
        co_return std::move(pulled).error().with_context("failed to get sandbox image \"" + options_.sandbox_image + "\" for Windows " +
                                                         options_.profile.version());
    }
    co_return {};
}

Task<> Sandboxes::bring_up(std::shared_ptr<Sandbox> sandbox) {
    CO_TRY_VOID(co_await ensure_image());
    if (sandbox->record.is_host_process()) {
        CO_TRY_VOID(co_await start_process(sandbox));
        co_return begin(sandbox, PodAddresses());
    }
    if (const std::string why = context_.network.not_ready(); !why.empty())
        co_return Error(Reason::Unavailable, "cni plugin not initialized: " + why);
    CO_TRY(sandbox->record.namespace_id, co_await context_.network.create_namespace());
    CO_TRY_VOID(save(*sandbox));
    sandbox->record.attached = true;
    CO_TRY_VOID(save(*sandbox));
    // Side by side: each of them waits for programs most of the time, and the namespace is there without a process in it.
    PodAddresses addresses;
    std::vector<Task<>> both;
    both.push_back(start_process(sandbox));
    both.push_back(attach(sandbox, addresses));
    CO_TRY(const auto results, co_await when_all(std::move(both)));
    for (const Result<void>& result : results) CO_TRY_VOID(result);
    co_return begin(sandbox, addresses);
}

Task<> Sandboxes::attach(std::shared_ptr<Sandbox> sandbox, PodAddresses& addresses) {
    CO_TRY(addresses, co_await context_.network.attach({sandbox->record.id, sandbox->record.namespace_id, sandbox->record.config}));
    co_return {};
}

/// Its process and its network are there.
Result<void> Sandboxes::begin(const std::shared_ptr<Sandbox>& sandbox, const PodAddresses& addresses) {
    sandbox->record.addresses = addresses.addresses;
    TRY_VOID(write_network_files(*sandbox, addresses));
    sandbox->record.ready = true;
    TRY_VOID(save(*sandbox));
    scope_.spawn(watch(sandbox));
    return {};
}

std::string Sandboxes::hostname(const Sandbox& sandbox) const {
    if (sandbox.record.is_host_process()) return options_.host_name;
    return sandbox.record.config.hostname.empty() ? short_id(sandbox.record.id) : sandbox.record.config.hostname;
}

std::string Sandboxes::network_path(const Sandbox& sandbox) const {
    // This program runs where the host's own network is.
    return sandbox.record.is_host_process() ? "/proc/" + std::to_string(::getpid()) + "/ns/net"
                                            : context_.network.path(sandbox.record.namespace_id);
}

Task<> Sandboxes::start_process(std::shared_ptr<Sandbox> sandbox) {
    OciBundle bundle;
    bundle.rootfs = options_.wine.sandbox_root();
    bundle.read_only_rootfs = true;
    bundle.arguments = {"/porthole/init", "--socket", "/.ph/s"};
    bundle.hostname = hostname(*sandbox);
    bundle.network_namespace_path = network_path(*sandbox);
    bundle.user_namespace = options_.users.user_namespace();
    bundle.cgroup_path = cgroup(sandbox->record.id) + "/sandbox";
    bundle.mounts = {{sandbox->folder.exchange(), "/.ph"}};
    bundle.limits.processes = 16;
    bundle.with_devices = false;
    const std::string id = short_id(sandbox->record.id);
    CO_TRY(sandbox->pid, co_await runc_.start(id, sandbox->folder.path, std::move(bundle)));
    if (!context_.files.exists("/proc/" + std::to_string(sandbox->pid))) co_return Error(Reason::Io, "the sandbox's process ended at once");
    co_return {};
}

/// Ends when the process has: then the sandbox is not ready, and the kubelet makes another.
Task<> Sandboxes::watch(std::shared_ptr<Sandbox> sandbox) {
    std::unique_ptr<InitConnection> connection;
    for (int round = 0; !connection && round < 100; ++round) {
        auto opened = co_await InitConnection::open(context_.loop, sandbox->folder.socket());
        if (opened) {
            connection = *std::move(opened);
        } else {
            if (is_cancelled(opened)) co_return std::move(opened).error();
            CO_TRY_VOID(co_await context_.loop.sleep(20ms));
        }
    }
    if (connection) {
        const auto ended = co_await connection->next();
        if (is_cancelled(ended)) co_return ended.error();
    }
    if (!sandbox->record.ready) co_return {};
    context_.log.warn("a sandbox's process has ended", {{"sandbox", sandbox->record.id}});
    sandbox->record.ready = false;
    co_return save(*sandbox);
}

Result<void> Sandboxes::write_network_files(const Sandbox& sandbox, const PodAddresses& addresses) {
    const std::string name = hostname(sandbox);
    std::string hosts = "127.0.0.1 localhost\n::1 localhost\n";
    // Wine asks for the machine's own name at each start: it must not go to a DNS server.
    for (const std::string& address : addresses.addresses) hosts += address + " " + name + "\n";
    if (addresses.addresses.empty()) hosts += "127.0.1.1 " + name + "\n";
    TRY_VOID(context_.files.write(sandbox.folder.hosts(), hosts, 0644));
    cri::DNSConfig dns;
    if (sandbox.record.config.dns_config) dns = *sandbox.record.config.dns_config;
    if (!addresses.dns_servers.empty()) {
        dns.servers = addresses.dns_servers;
        dns.searches = addresses.dns_searches;
    }
    // Wine takes an answer that ends with a name, as one of a CNAME or PTR does, for damaged; with EDNS a record comes after it.
    std::string text = "options edns0\n";
    for (const std::string& server : dns.servers) text += "nameserver " + server + "\n";
    // As on Windows one suffix counts, and a name with a dot never gets it.
    if (!dns.searches.empty()) text += "search " + dns.searches.front() + "\noptions ndots:1\n";
    return context_.files.write(sandbox.folder.resolv_conf(), text, 0644);
}

Task<> Sandboxes::detach(std::shared_ptr<Sandbox> sandbox) {
    SandboxRecord& record = sandbox->record;
    if (record.attached) {
        CO_TRY_VOID(co_await context_.network.detach({record.id, record.namespace_id, record.config}));
        record.attached = false;
        CO_TRY_VOID(save(*sandbox));
    }
    CO_TRY_VOID(co_await runc_.remove(short_id(record.id)));
    sandbox->pid = 0;
    if (!record.namespace_id.empty()) {
        CO_TRY_VOID(co_await context_.network.remove_namespace(record.namespace_id));
        record.namespace_id.clear();
    }
    co_return save(*sandbox);
}

Task<> Sandboxes::stop(std::string id) {
    const auto sandbox = find(id);
    if (!sandbox) co_return {};
    if (sandbox->changing) co_return Error(Reason::Conflict, "the sandbox is already being created or stopped");
    const SandboxRecord& record = sandbox->record;
    if (!record.ready && !record.attached && record.namespace_id.empty() && sandbox->pid == 0) co_return {};  // stopped before
    sandbox->changing = true;
    sandbox->record.ready = false;
    auto done = co_await detach(sandbox);
    sandbox->changing = false;
    co_return done;
}

Task<> Sandboxes::lose(std::string id) {
    const auto sandbox = find(id);
    if (!sandbox) co_return {};
    sandbox->record.ready = false;
    CO_TRY_VOID(co_await runc_.remove(short_id(id)));
    sandbox->pid = 0;
    sandbox->record.namespace_id.clear();
    Cgroups(context_.files).remove(cgroup(id));
    co_return save(*sandbox);
}

Task<> Sandboxes::remove(std::string id) {
    const auto sandbox = find(id);
    if (!sandbox) co_return {};
    CO_TRY_VOID(co_await stop(id));
    Cgroups(context_.files).remove(cgroup(id));
    CO_TRY_VOID(unmount_below(sandbox->folder.path));
    CO_TRY_VOID(context_.files.remove_all(sandbox->folder.path));
    sandboxes_.erase(id);
    co_return {};
}

}  // namespace porthole::winhost
