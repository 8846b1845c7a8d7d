#include <io.h>

#include <cstdio>
#include <cstdlib>

#include "api/core_v1.h"
#include "client/kubeconfig.h"
#include "cmd/doctor/node/node_check.h"
#include "cmd/doctor/node/node_gather.h"
#include "cmd/doctor/report/report.h"
#include "cmd/program/runtime_setup.h"
#include "cmd/windows/node_flags.h"
#include "cmd/windows/roles.h"
#include "cni/flannel/cni_config.h"
#include "cni/flannel/network_check.h"
#include "hns/dll/load_hns.h"
#include "node_join/windows_node/host_windows.h"

namespace porthole::cmd {

using namespace node_join;
namespace {

using namespace std::chrono_literals;
using doctor::NodeEvidence;
using winservice::ServiceState;

constexpr Duration AnswerTime = 10s;

std::vector<NodeEvidence::Service> look_at_services(const WindowsNode& node) {
    const auto manager = winservice::make_service_manager();
    std::vector<NodeEvidence::Service> all;
    for (const char* name : NodeServices) {
        const auto found = manager->find(name);
        NodeEvidence::Service service{.name = name, .state = found ? "not registered" : found.error().message, .runs = false, .remedy = {}};
        const std::optional<ServiceState> state = found ? *found : std::nullopt;
        service.runs = state == ServiceState::Running;
        if (state) service.state = service.runs ? "running" : "stopped, or on its way";
        service.remedy = state ? "sc.exe start " + service.name + "; why it ended: " + node.log_folder + "\\" + name + ".log"
                               : "porthole.exe join, or porthole.exe register for a kubeconfig at " + node.kubeconfig();
        all.push_back(std::move(service));
    }
    return all;
}

Task<client::ClientConfig> read_config(FileSystem& files, std::string path) {
    CO_TRY(const auto document, client::read_kubeconfig(files, path));
    co_return document.resolve(files);
}

/// The host's own address in the pod network, and what the service keeps of that.
std::string look_at_hns(RealWorld& world, const WindowsNode& node, NodeEvidence& evidence) {
    const auto service = hns::own_hns(world.loop, *world.pool);
    const auto missing = world.run(with_timeout(cni::flannel::missing_of_network(*service, node.network_name()), AnswerTime, "asking HNS"));
    evidence.missing_network = missing ? *missing : missing.error().message;
    auto facts = world.run(with_timeout(doctor::read_hns(*service, node.network_name()), AnswerTime, "asking HNS"));
    if (!facts) {
        evidence.hns_error = facts.error().message;
        return "";
    }
    evidence.hns = *std::move(facts);
    for (const auto& endpoint : evidence.hns->endpoints)
        if (endpoint.name == node.network_name() + "_ep" && !endpoint.ip_configurations.empty())
            return endpoint.ip_configurations.front().ip_address;
    return "";
}

NodeEvidence gather(RealWorld& world, const WindowsNode& node) {
    const auto files = make_file_system();
    NodeEvidence evidence{.windows = true, .address = node.ip};
    evidence.services = look_at_services(node);
    evidence.ports = {{10250, "kubelet"}, {10248, "kubelet"}, {10256, "kube-proxy"}};
    evidence.pod_network = node.network_name();
    evidence.overlay = node.is_overlay();
    evidence.network_remedy = "flanneld makes it: " + node.log_folder + "\\flanneld.log says why it did not";
    evidence.cluster_cidr = node.cluster_cidr;
    evidence.service_cidr = node.service_cidr;
    evidence.cluster_domain = node.cluster_domain;
    evidence.cni_configuration = node.cni_config();
    if (const auto text = files->read(node.cni_config())) evidence.nat_exceptions = cni::flannel::nat_exceptions_of(*text);
    const std::string leg = look_at_hns(world, node, evidence);
    doctor::look_at_machine(world.loop, leg, evidence);
    const auto config = world.run(read_config(*files, node.kubeconfig()));
    if (!config) {
        evidence.server_error = config.error().message;
        return evidence;
    }
    evidence.server = config->server;
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
    std::string output = "text";
    bool only_problems = false;
    CLI::App app("Check what this machine needs to be a node, with what to do about what is wrong. Changes nothing.", "doctor");
    add_node_flags(app, node);
    app.add_option("-o,--output", output, "text, or json for programs")->check(CLI::IsMember({"text", "json"}))->capture_default_str();
    app.add_flag("-q,--quiet", only_problems, "leave out what passes and what does not apply");
    app.footer("Give the flags that the node was joined with. The exit code is 0 without failures, 1 with any.");
    if (const auto code = parse_flags(app, std::move(arguments))) return *code;
    RealWorld world;
    // Without a kubeconfig the node's address is not known, which the checks then say.
    if (const auto known = complete_node(node); !known && node.name.empty()) return fail(known.error().message);
    const auto findings = doctor::examine_node(gather(world, node));
    const bool color = ::_isatty(::_fileno(stdout)) && !std::getenv("NO_COLOR");
    const doctor::ReportStyle style{.color = color, .everything = !only_problems, .other = "This node"};
    std::fputs((output == "json" ? doctor::to_json(findings, "") : doctor::to_text(findings, style)).c_str(), stdout);
    return doctor::has_failed(findings) ? 1 : 0;
}

}  // namespace porthole::cmd
