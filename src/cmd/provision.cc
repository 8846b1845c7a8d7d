#include "provision/provisioner.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "base/log.h"
#include "base/strings.h"
#include "base/time/time.h"
#include "base/version.h"
#include "client/http_transport.h"
#include "client/kubeconfig.h"
#include "client/leader_election.h"
#include "cmd/program/progress_flags.h"
#include "cmd/program/runtime_setup.h"
#include "cmd/server/server_flags.h"
#include "local_cluster/admin_client.h"
#include "local_cluster/processes/child_process.h"
#include "local_cluster/state/data_dir.h"
#include "net/tls/x509.h"
#include "provision/etcd_roster.h"
#include "provision/server_files.h"
#include "provision/server_provisioner.h"
#include "runtime/first_of.h"
#include "runtime/random.h"
#include "runtime/sync.h"

namespace porthole::cmd {

using namespace local_cluster;
using namespace provision;
namespace {

struct ProvisionFlags {
    std::string file, data = default_data_dir(), kubeconfig, server, windows_zip, ready_timeout = "5m";
    bool dry_run = false, drain = false;
    std::size_t parallel = 4;
    ProgressFlags progress;
};

/// Where the machines find the API server. The address of a kubeconfig may be one of this machine alone.
Result<std::string> server_of(const ProvisionFlags& flags, const AdminClient& admin) {
    if (!flags.server.empty()) return flags.server;
    for (const char* local : {"https://127.", "https://localhost", "https://[::1]"})
        if (admin.server.starts_with(local))
            return Error(Reason::BadRequest,
                         "other machines do not reach the API server at " + admin.server + ": give its address by --server");
    return admin.server;
}

Task<Payload> payload(ProcessRunner& processes, std::string file) {
    CO_TRY(const CommandOutput done, co_await processes.run({.arguments = {"sha256sum", "--", file}}));
    constexpr std::size_t Digits = 64;
    // A backslash comes first where the file's name has to be written with escapes.
    const std::string sum = done.output.starts_with('\\') ? done.output.substr(1, Digits) : done.output.substr(0, Digits);
    if (done.exit_code != 0 || sum.size() != Digits) co_return Error(Reason::Io, "cannot read " + file + ": " + done.errors);
    co_return Payload{.file = std::move(file), .sha256 = sum};
}

Result<Duration> ready_limit(const ProvisionFlags& flags) {
    const auto limit = parse_duration(flags.ready_timeout);
    if (limit && *limit > Duration::zero()) return *limit;
    return Error(Reason::BadRequest, "--ready-timeout: \"" + flags.ready_timeout + "\" is not a valid duration; write it like 90s or 5m");
}

Task<ProvisionSettings> settings(RealWorld& world, const ProvisionFlags& flags, const AdminClient& admin) {
    ProvisionSettings settings{.windows_remedy = "a Windows machine needs the zip of the Windows build: --windows-zip FILE",
                               .drains_before_upgrade = flags.drain,
                               .parallel = flags.parallel};
    constexpr std::size_t MostParallel = 64;
    if (flags.parallel < 1 || flags.parallel > MostParallel)
        co_return Error(Reason::BadRequest, "--parallel must be a number from 1 to 64");
    CO_TRY(settings.ready_limit, ready_limit(flags));
    CO_TRY(settings.server, server_of(flags, admin));
    CO_TRY(const auto ca, net::parse_certificate(admin.ca_pem));
    settings.ca_hash = "sha256:" + net::to_hex(net::sha256(ca.public_der));
    CO_TRY(settings.linux_payload, co_await payload(*world.processes, own_program().string()));
    if (!flags.windows_zip.empty()) {
        CO_TRY(settings.windows_payload, co_await payload(*world.processes, std::filesystem::absolute(flags.windows_zip).string()));
    }
    co_return std::move(settings);
}

/// Unique among runs, and tells a person whose it is.
std::string identity(Random& random) {
    char host[256] = {};
    (void)::gethostname(host, sizeof host - 1);
    const char* user = std::getenv("USER");
    return fmt::format("{}@{}, process {}, {}", user ? user : "someone", host, ::getpid(), random.uuid().substr(0, 8));
}

Task<> interruption(Event& interrupted) {
    CO_TRY_VOID(co_await interrupted.wait());
    co_return Error(Reason::Io, "interrupted; the next run continues where this one ended");
}

/// Ends with `work`, or with an error when the user interrupts.
Task<> until(Event& interrupted, Task<> work) { return first_of(std::move(work), interruption(interrupted)); }

/// All of a run.
struct Run {
    RealWorld& world;
    Progress& progress;
    const ProvisionFlags& flags;
    std::unique_ptr<Transport> transport = make_ssh_transport(*world.processes);
    SystemRandom random;
    std::string holder = identity(random);
    Event interrupted;

    auto print() {
        return [this](const std::string& line) { progress.note("would " + line); };
    }

    ServerProvisioner::Connect connector() {
        return [this](const std::string& url, const AdminCredentials& rights) {
            return client::make_http_transport(
                world.loop, {.server = url, .ca_pem = rights.ca_pem, .certificate_pem = rights.certificate_pem, .key_pem = rights.key_pem},
                std::string("porthole/") + PortholeVersion);
        };
    }

    /// The description's control plane; nullptr if it is yet to be made, which a dry run does not do.
    Task<std::unique_ptr<AdminClient>> provision_servers(ControlPlaneDescription plane) {
        for (const MachineDescription& host : plane.hosts) {
            std::vector<std::string> words = server_command(plane, host);
            CO_TRY_VOID(check_server_flags({words.begin() + 2, words.end()}));
        }
        CO_TRY(const auto limit, ready_limit(flags));
        CO_TRY(Payload program, co_await payload(*world.processes, own_program().string()));
        constexpr std::size_t TokenBytes = 32;
        const auto files = make_file_system();
        ServerProvisioner servers({.loop = world.loop,
                                   .transport = *transport,
                                   .connect = connector(),
                                   .connect_etcd = connect_etcd(world.loop),
                                   .files = *files,
                                   .report = progress},
                                  plane,
                                  {.program = std::move(program),
                                   .holder = holder,
                                   .new_server_token = net::to_hex(random.bytes(TokenBytes)) + "\n",
                                   .ready_limit = limit});
        auto done = co_await until(interrupted, flags.dry_run ? servers.plan(print()) : servers.apply());
        (void)co_await servers.clean_up();
        CO_TRY_VOID(std::move(done));
        if (!servers.credentials()) co_return std::unique_ptr<AdminClient>();
        CO_TRY(auto way, connector()(servers.ready_url(), *servers.credentials()));
        auto admin = std::make_unique<AdminClient>(std::move(way));
        admin->server = join(plane.hosts, ",", [&](const MachineDescription& host) { return plane.url(host); });
        admin->ca_pem = servers.credentials()->ca_pem;
        co_return std::move(admin);
    }

    Task<> provision_nodes(AdminClient& admin, std::vector<MachineDescription> machines) {
        CO_TRY(ProvisionSettings told, co_await settings(world, flags, admin));
        Provisioner provisioner({.loop = world.loop, .client = admin.client, .transport = *transport, .report = progress}, std::move(told));
        if (flags.dry_run) co_return co_await until(interrupted, provisioner.plan(std::move(machines), print()));
        client::LeaderElector elector(world.loop, admin.client, random, Logger(make_null_sink(), "provision"),
                                      {"kube-system", "porthole-provision"}, holder);
        const auto apply = [&]() -> Task<> { return apply_nodes(provisioner, std::move(machines)); };
        auto done = co_await elector.run_alone(apply);
        if (!done && done.error().reason == Reason::AlreadyExists)
            co_return Error(Reason::AlreadyExists, "another run for this cluster is in progress: " + done.error().message);
        co_return done;
    }

    Task<> apply_nodes(Provisioner& provisioner, std::vector<MachineDescription> machines) {
        auto done = co_await until(interrupted, provisioner.apply(std::move(machines)));
        (void)co_await provisioner.clean_up();
        co_return done;
    }

    Task<> run() {
        CO_TRY(auto machines, read_machines_file(flags.file));
        CO_TRY(auto plane, read_control_plane_file(flags.file));
        world.loop.on_signal([this](int) { interrupted.set(); });
        if (!plane) {
            CO_TRY(const auto admin, connect_as_admin(world.loop, flags.kubeconfig, flags.data));
            co_return co_await provision_nodes(*admin, std::move(machines));
        }
        if (flags.data != default_data_dir())
            co_return Error(Reason::BadRequest, "--data is for a cluster on this machine; this one has spec.controlPlane");
        if (!flags.kubeconfig.empty()) plane->kubeconfig = std::filesystem::absolute(flags.kubeconfig).string();
        const std::string kubeconfig = plane->kubeconfig;
        CO_TRY(const auto admin, co_await provision_servers(*std::move(plane)));
        if (!admin)  // a dry run, with no server to ask about nodes
            for (const MachineDescription& machine : machines) print()("join " + machine.name);
        if (!admin) co_return {};
        CO_TRY_VOID(co_await provision_nodes(*admin, std::move(machines)));
        if (!flags.dry_run) progress.note("use it:  kubectl --kubeconfig " + kubeconfig + " get nodes");
        co_return {};
    }
};

}  // namespace

int run_provision(std::vector<std::string> arguments) {
    ProvisionFlags flags;
    CLI::App app("Set up, upgrade and remove the servers and nodes in a description, over SSH.", "provision");
    app.add_option("--file,-f", flags.file, "the description; its control plane and the pools that name hosts are used")->required();
    app.add_flag("--dry-run", flags.dry_run, "query the machines and print the planned actions, without changing anything");
    app.add_flag("--drain", flags.drain,
                 "drain each node before its agent is upgraded; without it, nodes are only cordoned and containers keep running");
    app.add_option("--parallel", flags.parallel, "number of machines to work on at the same time, 1 to 64; upgrades run one by one")
        ->capture_default_str();
    app.add_option("--ready-timeout", flags.ready_timeout,
                   "how long a server or a node may take to become ready; after that, an upgrade is rolled back")
        ->capture_default_str();
    app.add_option("--server", flags.server, "address at which the machines reach the API server (default: the kubeconfig's)");
    app.add_option("--windows-zip", flags.windows_zip, "the file porthole-…-windows-amd64.zip, required for Windows machines");
    app.add_option("--data", flags.data, "data directory of the cluster on this machine")->capture_default_str();
    app.add_option(
        "--kubeconfig", flags.kubeconfig,
        "kubeconfig of another cluster's administrator; with spec.controlPlane the file to write (default: NAME.kubeconfig next to the "
        "description)");
    flags.progress.add_flags(app);
    app.footer(
        "Each machine needs this machine's public key in its user's authorized_keys, and its host key must be in the known hosts file: no "
        "host\n"
        "key is trusted silently. Linux machines need systemd, nodes also containerd; a user other than root needs sudo without a "
        "password.\n"
        "\n"
        "The servers of spec.controlPlane come first. Without it, the control plane runs already (`porthole server`).\n"
        "\n"
        "You can run the command again to apply changes: new hosts are set up; hosts with a different version of the program are upgraded "
        "one\n"
        "by one, servers before nodes, and are rolled back if they do not become ready; hosts that are no longer in the file are removed.\n"
        "\n"
        "Examples:\n"
        "  porthole provision -f cluster.yaml --dry-run    print the planned actions\n"
        "  porthole provision -f cluster.yaml\n"
        "  porthole provision -f cluster.yaml -o json      print each step as a JSON object, for programs\n"
        "  with this cluster.yaml:\n"
        "    apiVersion: porthole.dev/v1alpha1\n"
        "    kind: Cluster\n"
        "    metadata: {name: prod}\n"
        "    spec:\n"
        "      controlPlane:\n"
        "        identityFile: id_ed25519     # relative to the file, as knownHosts\n"
        "        knownHosts: known_hosts\n"
        "        hosts: [{name: cp-1, address: 192.0.2.10}]     # 3 or 5, with `etcd: {}`, survive the loss of a host\n"
        "      pools:\n"
        "      - name: web\n"
        "        os: linux\n"
        "        identityFile: id_ed25519\n"
        "        knownHosts: known_hosts\n"
        "        labels: {tier: web}\n"
        "        hosts: [{name: web-1, address: 192.0.2.11}, {name: web-2, address: 192.0.2.12}]");
    if (const auto code = parse_flags(app, std::move(arguments))) return *code;

    RealWorld world;
    Progress progress(world.loop, flags.progress.style());
    Run run{world, progress, flags};
    return progress.end(world.run(run.run()));
}

}  // namespace porthole::cmd
