#include <windows.h>

#include <io.h>

#include <cstdio>
#include <cstdlib>

#include "api/core_v1.h"
#include "client/kubeconfig.h"
#include "cmd/doctor/node/disk_encryption.h"
#include "cmd/doctor/node/limited_wait.h"
#include "cmd/doctor/node/node_check.h"
#include "cmd/doctor/node/node_gather.h"
#include "cmd/doctor/report/report.h"
#include "cmd/program/output_flag.h"
#include "cmd/program/runtime_setup.h"
#include "cmd/windows/node_flags.h"
#include "cmd/windows/roles.h"
#include "cni/flannel/cni_config.h"
#include "cni/flannel/network_check.h"
#include "hns/dll/load_hns.h"
#include "node_join/server_list.h"
#include "node_join/windows_node/host_windows.h"
#include "node_join/windows_node/node_status.h"

namespace porthole::cmd {

using namespace node_join;
namespace {

using namespace std::chrono_literals;
using doctor::NodeEvidence;
using winservice::ServiceState;

constexpr Duration AnswerTime = 10s;
constexpr std::chrono::milliseconds HnsTime = 20s;

std::vector<NodeEvidence::Service> look_at_services(const WindowsNode& node) {
    const auto manager = winservice::make_service_manager();
    std::vector<NodeEvidence::Service> all;
    for (const char* name : NodeServices) {
        const auto found = manager->find(name);
        NodeEvidence::Service service{.name = name, .state = found ? "not registered" : found.error().message, .runs = false, .remedy = {}};
        const std::optional<ServiceState> state = found ? *found : std::nullopt;
        if (found && !state && !is_required_service(name)) continue;
        service.runs = state == ServiceState::Running;
        service.present = state && *state != ServiceState::Stopped;
        if (state) service.state = service.runs ? "running" : "not running";
        service.remedy = state ? "sc.exe start " + service.name + "; it ended because: " + node.log_folder + "\\" + name + ".log"
                               : "porthole.exe join, or porthole.exe register for a kubeconfig at " + node.kubeconfig();
        all.push_back(std::move(service));
    }
    return all;
}

Task<client::ClientConfig> read_config(FileSystem& files, WindowsNode node) {
    CO_TRY(const auto document, client::read_kubeconfig(files, node.kubeconfig()));
    CO_TRY(client::ClientConfig config, document.resolve(files));
    config.server = server_behind(files, node.credentials(), config.server);
    co_return config;
}

struct HnsAnswers {
    std::string missing_network;
    std::optional<doctor::HnsFacts> facts;
    std::string error;
};

/// On a loop of its own, which ends with the service's answer: calls of the service cannot be cancelled.
HnsAnswers ask_hns(const std::string& network) {
    RealWorld world;
    HnsAnswers answers;
    const auto service = hns::own_hns(world.loop, *world.pool);
    const auto missing = world.run(cni::flannel::missing_of_network(*service, network));
    answers.missing_network = missing ? *missing : missing.error().message;
    if (auto facts = world.run(doctor::read_hns(*service, network)))
        answers.facts = *std::move(facts);
    else
        answers.error = facts.error().message;
    return answers;
}

/// What the service keeps of the pod network. Whether it has answered.
bool look_at_hns(NodeEvidence& evidence) {
    auto answers = doctor::wait_at_most<HnsAnswers>(HnsTime, [network = evidence.pod_network] { return ask_hns(network); });
    const bool has_answered = answers.has_value();
    if (!answers) answers.emplace() = {.missing_network = "the host network service's answer", .facts = {}, .error = "it does not answer"};
    evidence.missing_network = answers->missing_network;
    evidence.hns = std::move(answers->facts);
    evidence.hns_error = answers->error;
    return has_answered;
}

/// The host's own address in the pod network; "" where it has none.
std::string pod_address(const NodeEvidence& evidence) {
    if (!evidence.hns) return "";
    for (const auto& endpoint : evidence.hns->endpoints)
        if (endpoint.name == evidence.pod_network + "_ep" && !endpoint.ip_configurations.empty())
            return endpoint.ip_configurations.front().ip_address;
    return "";
}

/// A program of the node that is a service reaches servers as its service and the machine say, not as this console does.
void take_proxies_of_programs() {
    const auto of_service = winservice::environment_of_service("kubelet");
    if (of_service.empty()) return;  // it is not one of ours, or was started from a console
    for (const char* name : {"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"}) {
        const auto own = of_service.find(name);
        ::_putenv_s(name, (own != of_service.end() ? own->second : registered_machine_variable(name)).c_str());
    }
}

void look_at_version(NodeEvidence& evidence) {
    const char* version = "SOFTWARE\\Microsoft\\Windows NT\\CurrentVersion";
    char build[16] = "";
    DWORD size = sizeof build, update = 0;
    if (::RegGetValueA(HKEY_LOCAL_MACHINE, version, "CurrentBuildNumber", RRF_RT_REG_SZ, nullptr, build, &size) == ERROR_SUCCESS)
        evidence.windows_build = static_cast<std::uint32_t>(std::strtoul(build, nullptr, 10));
    size = sizeof update;
    if (::RegGetValueA(HKEY_LOCAL_MACHINE, version, "UBR", RRF_RT_REG_DWORD, nullptr, &update, &size) == ERROR_SUCCESS)
        evidence.windows_update = update;
}

/// `hns_answers`: see look_at_hns().
NodeEvidence gather(RealWorld& world, const WindowsNode& node, bool& hns_answers) {
    const auto files = make_file_system();
    NodeEvidence evidence{.windows = true, .address = node.ip};
    look_at_version(evidence);
    evidence.services = look_at_services(node);
    evidence.ports = {{10250, "kubelet"}, {10248, "kubelet"}, {10256, "kube-proxy"}};
    evidence.pod_network = node.network_name();
    evidence.overlay = node.is_overlay();
    evidence.network_remedy = "flanneld makes it: " + node.log_folder + "\\flanneld.log has the reason if it did not";
    evidence.cluster_cidr = node.cluster_cidr;
    evidence.service_cidr = node.service_cidr;
    evidence.cluster_domain = node.cluster_domain;
    evidence.cni_configuration = node.cni_config();
    if (const auto text = files->read(node.cni_config())) evidence.nat_exceptions = cni::flannel::nat_exceptions_of(*text);
    hns_answers = look_at_hns(evidence);
    const char* drive = std::getenv("SystemDrive");  // C:\\var\\lib\\kubelet is there
    if (const auto asked = world.run(doctor::ask_bitlocker(*make_process_runner(*world.pool), drive ? drive : "C:", evidence)); !asked)
        evidence.encryption_unknown = asked.error().message;
    take_proxies_of_programs();
    const auto config = world.run(read_config(*files, node));
    if (config && evidence.address.empty())
        evidence.address =
            world.run(with_timeout(doctor::ask_address(world.loop, *config), AnswerTime, "asking the API server")).value_or("");
    doctor::look_at_machine(world.loop, pod_address(evidence), evidence);
    if (!config) {
        evidence.server_error = config.error().message;
        return evidence;
    }
    evidence.server = config->server;
    doctor::look_at_servers(*files, node.credentials(), evidence);
    const auto behind = world.run(with_timeout(doctor::ask_clock(world.loop, *config), AnswerTime, "asking the API server"));
    if (behind) {
        evidence.seconds_behind = *behind;
    } else {
        evidence.server_error = behind.error().message;
    }
    return evidence;
}

}  // namespace

int run_doctor(std::vector<std::string> arguments) {
    WindowsNode node;
    OutputFlag output;
    bool only_problems = false;
    CLI::App app("Check whether this machine can be a node, with remedies for problems. Changes nothing.", "doctor");
    add_node_flags(app, node);
    output.add_flags(app);
    app.add_flag("-q,--quiet", only_problems, "print warnings and failures only");
    app.footer("Give the flags that the node was joined with. The exit code is 0 without failures, 1 with a failure.");
    if (const auto code = parse_flags(app, std::move(arguments))) return *code;
    RealWorld world;
    // Without a kubeconfig the node's address is not known, which the checks then say.
    if (const auto known = complete_node(node); !known && node.name.empty()) return fail(known.error().message);
    bool hns_answers = true;
    const auto findings = doctor::examine_node(gather(world, node, hns_answers));
    const bool color = ::_isatty(::_fileno(stdout)) && !std::getenv("NO_COLOR");
    const doctor::ReportStyle style{.color = color, .everything = !only_problems, .other = "This node"};
    std::fputs((output.is_text() ? doctor::to_text(findings, style) : output.document(doctor::to_value(findings, ""))).c_str(), stdout);
    const int code = doctor::has_failed(findings) ? 1 : 0;
    if (hns_answers) return code;
    std::fflush(stdout);
    ::TerminateProcess(::GetCurrentProcess(), static_cast<UINT>(code));  // anything else waits for the thread that asks
    return code;
}

}  // namespace porthole::cmd
