#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "client/http_transport.h"
#include "client/kubeconfig.h"
#include "cmd/doctor/check.h"
#include "cmd/doctor/gather.h"
#include "cmd/doctor/node/linux_node.h"
#include "cmd/doctor/node/node_check.h"
#include "cmd/doctor/report/report.h"
#include "cmd/program/flags.h"
#include "cmd/program/output_flag.h"
#include "cmd/program/runtime_setup.h"
#include "local_cluster/admin_client.h"
#include "local_cluster/state/cluster.h"
#include "local_cluster/state/data_dir.h"
#include "local_cluster/system_unit.h"
#include "net/http/proxy.h"
#include "net/tls/x509.h"
#include "node_join/ca_rotation.h"
#include "node_join/pki.h"
#include "node_join/server_list.h"
#include "runtime/files/file_lock.h"

namespace porthole::cmd {

using namespace local_cluster;
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using doctor::Evidence;

struct DoctorFlags {
    std::string kubeconfig, data = default_data_dir();
    OutputFlag output;
    bool only_problems = false, node = false;
};

constexpr const char* AgentKubeconfig = "/var/lib/porthole-agent/kubeconfig";

/// While an authority is replaced, one text may have two of them, and the other only one.
bool have_common_authority(const std::string& one_pem, const std::string& other_pem) {
    const auto one = node_join::authority_ids(one_pem), other = node_join::authority_ids(other_pem);
    return one && other && std::ranges::find_first_of(*one, *other) != one->end();
}

/// The data directory counts only where it is that of the server that the kubeconfig leads to.
void add_host(Evidence& evidence, const DoctorFlags& flags, const std::string& ca_pem) {
    const fs::path data = DataDir(flags.data).root();
    const auto own = node_join::Pki::load(data / "pki");
    if (!own) {
        evidence.host_missing = "the server's files are not on this machine, or not readable; --data names them, for root";
    } else if (!have_common_authority(own->ca_pem, ca_pem)) {
        evidence.host_missing = data.string() + " belongs to another cluster";
    } else if (auto facts = doctor::gather_host(data, evidence.flag("audit-log-path").value_or(""))) {
        evidence.host = *std::move(facts);
        if (Cluster::load(DataDir(flags.data))) evidence.host->up_data_flag = DataDir(flags.data).flag();
    } else {
        evidence.host_missing = facts.error().message;
    }
}

void add_own_credentials(Evidence& evidence, const std::string& certificate_pem) {
    const auto certificate = net::parse_certificate(certificate_pem);
    if (!certificate) return;
    evidence.admin_by_certificate = true;
    evidence.admin_groups = certificate->subject.organizations;
}

Task<Evidence> ask(RealWorld& world, AdminClient& admin) {
    CO_TRY(const auto anonymous,
           client::make_http_transport(world.loop, {.server = admin.server, .ca_pem = admin.ca_pem, .direct = admin.direct},
                                       "porthole-doctor"));
    co_return co_await doctor::gather(world.loop, admin.client, *anonymous);
}

void print(const std::vector<doctor::Finding>& findings, const DoctorFlags& flags) {
    const bool color = ::isatty(STDOUT_FILENO) == 1 && !std::getenv("NO_COLOR");
    doctor::ReportStyle style{.color = color, .everything = !flags.only_problems};
    if (flags.node) style.other = "This node";
    const std::string text = flags.output.is_text()
                                 ? doctor::to_text(findings, style)
                                 : flags.output.document(flags.node ? doctor::to_value(findings, "") : doctor::to_value(findings));
    std::fputs(text.c_str(), stdout);
}

/// The node's programs reach servers so, whatever the shell says that this one was started in.
void take_proxies_of_programs(const std::map<std::string, std::string>& variables) {
    for (const char* name : {"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy"}) ::unsetenv(name);
    for (const auto& [name, value] : variables) ::setenv(name.c_str(), value.c_str(), 1);
}

/// Whether the process that the lock of the agent names is there.
bool is_agent_there(const std::string& folder) {
    constexpr std::string_view Process = "process ";
    const std::string holder = FileLock::read_holder(folder + "/agent.lock");
    const pid_t pid = holder.starts_with(Process) ? std::atoi(holder.c_str() + Process.size()) : 0;
    return pid > 0 && ::kill(pid, 0) == 0;
}

/// That of the cluster's node that is this machine itself. Without such a node, the administrator's.
std::string kubeconfig_of_own_node(const DataDir& data, const Cluster& cluster) {
    for (const NodeHost& node : cluster.nodes(data))
        if (!node.is_windows() && node.network_namespace.empty()) return data.node(node.name) / "kubeconfig";
    return data.admin_kubeconfig();
}

/// With the credentials of the agent that `join` made a node of, else of the cluster on this machine.
int examine_this_node(RealWorld& world, const DoctorFlags& flags) {
    std::error_code code;
    const DataDir data(flags.data);
    std::string path = flags.kubeconfig;
    Result<Cluster> cluster = Error(Reason::NotFound, "a node of a cluster on another machine");
    if (path.empty() && !fs::exists(AgentKubeconfig, code)) cluster = Cluster::load(data);
    if (path.empty()) path = cluster ? kubeconfig_of_own_node(data, *cluster) : AgentKubeconfig;
    const auto files = make_file_system();
    const auto document = client::read_kubeconfig(*files, path);
    if (!document) return fail("no credentials of a node on this machine, or you are not root: " + document.error().message), 2;
    auto config = document->resolve(*files);
    if (!config) return fail(config.error().message), 2;
    config->direct = cluster.has_value();
    const fs::path folder = fs::absolute(path, code).parent_path();
    config->server = node_join::server_behind(*files, folder.string(), config->server);
    take_proxies_of_programs(cluster ? net::proxy_environment(cluster->proxy_exceptions()) : read_unit_environment(folder / "environment"));
    const auto evidence = world.run(doctor::gather_linux_node(world.loop, *config, folder.string(), is_agent_there(folder.string())));
    if (!evidence) return fail(evidence.error().message), 2;
    const auto findings = doctor::examine_node(*evidence);
    print(findings, flags);
    return doctor::has_failed(findings) ? 1 : 0;
}

}  // namespace

int run_doctor(std::vector<std::string> arguments) {
    DoctorFlags flags;
    CLI::App app("Check a running cluster against the CIS Kubernetes Benchmark 1.12. Changes nothing.", "doctor");
    app.add_option("--kubeconfig", flags.kubeconfig,
                   "kubeconfig of an administrator (default: the cluster on this machine, otherwise kubectl's)");
    app.add_option("--data", flags.data, "the server's data directory, whose files are checked as well")->capture_default_str();
    flags.output.add_flags(app);
    app.add_flag("--node", flags.node, "check this machine as a node instead: programs, adapters, proxies, clock, ports");
    app.add_flag("-q,--quiet", flags.only_problems, "print warnings and failures only");
    app.footer(
        "Each finding is pass, warn, fail or not applicable, with the benchmark's number and a remedy.\n"
        "The exit code is 0 without failures, 1 with a failure, 2 if the cluster cannot be reached.\n\n"
        "Examples:\n"
        "  sudo porthole doctor                      the cluster on this machine, its files too\n"
        "  sudo porthole doctor --node               this machine, as a node of it\n"
        "  porthole doctor -q --kubeconfig other     warnings and failures in another cluster\n"
        "  porthole doctor -o json | jq '.findings[] | select(.verdict == \"fail\")'");
    if (const auto code = parse_flags(app, std::move(arguments))) return *code;

    RealWorld world;
    if (flags.node) return examine_this_node(world, flags);
    const auto admin = connect_as_admin(world.loop, flags.kubeconfig, flags.data);
    if (!admin) return fail(admin.error().message), 2;
    auto evidence = world.run(with_timeout(ask(world, **admin), 60s, "asking the cluster"));
    if (!evidence) return fail(evidence.error().message), 2;
    add_host(*evidence, flags, (*admin)->ca_pem);
    add_own_credentials(*evidence, (*admin)->certificate_pem);
    const auto findings = doctor::examine(*evidence);
    print(findings, flags);
    return doctor::has_failed(findings) ? 1 : 0;
}

}  // namespace porthole::cmd
