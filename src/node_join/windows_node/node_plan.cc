#include "node_join/windows_node/node_plan.h"

#include <algorithm>
#include <cctype>
#include <map>

#include "base/strings.h"
#include "base/values/ip.h"
#include "runtime/processes/windows_command_line.h"

namespace porthole::node_join {

using namespace winservice;

namespace {

constexpr std::size_t LongestName = 253;
const FirewallRule KubeletRule{"Porthole kubelet", "TCP", 10250}, OverlayRule{"Porthole overlay network", "UDP", 4789};

bool is_node_name(const std::string& name) {
    const auto plain = [](unsigned char c) { return std::isdigit(c) || (c >= 'a' && c <= 'z'); };
    return !name.empty() && name.size() <= LongestName && plain(name.front()) && plain(name.back()) &&
           std::ranges::all_of(name, [&](unsigned char c) { return plain(c) || c == '-' || c == '.'; });
}

std::map<std::string, std::string> environment(const WindowsNode& node) {
    std::map<std::string, std::string> all{{"NODE_NAME", node.name}, {"KUBE_NETWORK", node.network_name()}};
    if (!node.proxy.empty()) {
        all["HTTP_PROXY"] = all["HTTPS_PROXY"] = node.proxy;
        all["NO_PROXY"] = node.no_proxy;
    }
    return all;
}

ServiceDefinition kubelet(const WindowsNode& node, const std::string& runtime_service) {
    ServiceDefinition service{
        .name = "kubelet",
        .display_name = "Kubernetes kubelet (Porthole)",
        .description = "Runs this node's pods.",
        .command = {node.folder + "\\kubelet.exe", "--windows-service", "--kubeconfig=" + node.kubeconfig(),
                    "--hostname-override=" + node.name, "--node-ip=" + node.ip, "--container-runtime-endpoint=" + node.runtime_endpoint,
                    "--cluster-dns=" + node.cluster_dns, "--cluster-domain=" + node.cluster_domain,
                    "--windows-priorityclass=" + node.priority_class, "--log-dir=" + node.log_folder, "--logtostderr=false"},
        .environment = environment(node)};
    if (node.shared_disk)
        service.command.insert(service.command.end(),
                               {"--image-gc-high-threshold=100", "--eviction-hard=memory.available<500Mi,nodefs.available<0%"});
    if (!node.system_reserved.empty()) service.command.push_back("--system-reserved=" + node.system_reserved);
    if (!node.labels.empty()) service.command.push_back("--node-labels=" + join(node.labels, ","));
    if (!node.taints.empty()) service.command.push_back("--register-with-taints=" + join(node.taints, ","));
    if (!runtime_service.empty()) service.depends_on.push_back(runtime_service);
    return service;
}

ServiceDefinition flanneld(const WindowsNode& node) {
    ServiceDefinition service{
        .name = "flanneld",
        .display_name = "Kubernetes pod network (Porthole)",
        .description = "Maintains this node's pod network and the routes to the pods of other nodes.",
        .command = {node.folder + "\\flanneld.exe", "--windows-service", "--kubeconfig-file=" + node.kubeconfig(),
                    "--node-name=" + node.name, "--iface=" + node.ip, "--cluster-cidr=" + node.cluster_cidr,
                    "--service-cidr=" + node.service_cidr, "--cluster-dns=" + node.cluster_dns, "--cluster-domain=" + node.cluster_domain,
                    std::string("--backend=") + (node.is_overlay()        ? "vxlan"
                                                 : node.router_has_routes ? "alloc"
                                                                          : "host-gw"),
                    "--cni-config-file=" + node.cni_config(), "--log-dir=" + node.log_folder, "--logtostderr=false"},
        .environment = environment(node)};
    if (!node.adapter.empty()) service.command.push_back("--adapter=" + node.adapter);
    return service;
}

ServiceDefinition kube_proxy(const WindowsNode& node) {
    ServiceDefinition service{
        .name = "kube-proxy",
        .display_name = "Kubernetes service proxy (Porthole)",
        .description = "Makes services reachable from this node.",
        .command = {node.folder + "\\kube-proxy.exe", "--windows-service", "--kubeconfig=" + node.kubeconfig(), "--proxy-mode=kernelspace",
                    "--hostname-override=" + node.name, "--cluster-cidr=" + node.cluster_cidr, "--network-name=" + node.network_name(),
                    "--log-dir=" + node.log_folder, "--logtostderr=false"},
        .depends_on = {"kubelet"},
        .environment = environment(node)};
    if (node.direct_server_return) service.command.push_back("--enable-dsr=true");
    return service;
}

ServiceDefinition csi_proxy(const WindowsNode& node) {
    return {.name = CsiProxyService,
            .display_name = "CSI proxy (Porthole)",
            .description = "Performs operations on this host for volume drivers in containers.",
            .command = {node.folder + "\\csi-proxy.exe", "--windows-service", "--log-dir=" + node.log_folder, "--logtostderr=false"}};
}

/// A whole command line as one argument of another.
std::string nested(const std::vector<std::string>& command) {
    const std::vector<std::string> words{"x", windows_command_line(command)};
    return windows_command_line(words).substr(2);
}

std::string line(std::vector<std::string> words) { return windows_command_line(words); }

}  // namespace

Result<void> check_node(const WindowsNode& node) {
    if (!is_node_name(node.name)) {
        return Error(Reason::BadRequest, "\"" + node.name +
                                             "\" cannot be a node's name: lower-case letters, digits, '-' and '.'; "
                                             "choose another with --node-name");
    }
    if (node.network_mode != "l2bridge" && node.network_mode != "overlay") {
        return Error(Reason::BadRequest, "--network-mode is l2bridge or overlay, not \"" + node.network_mode + "\"");
    }
    if (const auto address = IpAddress::parse(node.ip); address && address->is_v6()) {
        return Error(Reason::BadRequest, "the pod network of Windows nodes needs an IPv4 address of this machine, not " + node.ip +
                                             "; give one with --node-ip");
    }
    for (const std::string& range : {node.cluster_cidr, node.service_cidr}) {
        if (!IpPrefix::parse(range))
            return Error(Reason::BadRequest, "\"" + range + "\" is not a valid address range; write it like 10.244.0.0/16");
    }
    if (node.folder.size() < 4 || node.folder.substr(1, 2) != ":\\" || node.folder.back() == '\\' || node.folder.contains('"')) {
        return Error(Reason::BadRequest, "--folder must be a full path such as C:\\k");
    }
    return {};
}

bool is_program_of(const WindowsNode& node, std::string_view program) {
    constexpr std::string_view Verbatim = "\\\\?\\";
    if (program.starts_with(Verbatim)) program.remove_prefix(Verbatim.size());
    std::string path(program);
    std::ranges::replace(path, '/', '\\');
    return to_lower(path).starts_with(to_lower(node.folder) + "\\") && path.find("\\..") == path.npos;
}

std::vector<ServiceDefinition> node_services(const WindowsNode& node, const std::string& runtime_service) {
    std::vector<ServiceDefinition> services{flanneld(node), kubelet(node, runtime_service), kube_proxy(node)};
    if (node.csi_proxy) services.push_back(csi_proxy(node));
    return services;
}

std::vector<FirewallRule> firewall_rules(const WindowsNode& node) {
    std::vector<FirewallRule> rules{KubeletRule};
    if (node.is_overlay()) rules.push_back(OverlayRule);
    return rules;
}

std::vector<std::string> firewall_rule_names() { return {KubeletRule.name, OverlayRule.name}; }

// sc.exe wants "name= value": the blank after the equals sign is part of its grammar.
std::vector<std::string> sc_commands(std::span<const ServiceDefinition> services) {
    std::vector<std::string> lines;
    for (const ServiceDefinition& service : services) {
        std::string create = "sc.exe create " + service.name + " binPath= " + nested(service.command) + " start= auto";
        if (!service.depends_on.empty()) create += " depend= " + join(service.depends_on, "/");
        lines.push_back(std::move(create));
        lines.push_back(line({"sc.exe", "description", service.name, service.description}));
        lines.push_back("sc.exe failure " + service.name + " reset= 86400 actions= restart/5000/restart/10000/restart/30000");
        lines.push_back("sc.exe failureflag " + service.name + " 1");
    }
    for (const ServiceDefinition& service : services) lines.push_back("sc.exe start " + service.name);
    return lines;
}

std::vector<std::string> nssm_commands(const WindowsNode& node, std::span<const ServiceDefinition> services) {
    std::vector<std::string> lines;
    for (const ServiceDefinition& service : services) {
        std::vector<std::string> install{"nssm", "install", service.name, service.command.front()};
        for (std::size_t i = 1; i < service.command.size(); ++i) {
            if (service.command[i] != "--windows-service") install.push_back(service.command[i]);
        }
        lines.push_back(line(std::move(install)));
        std::vector<std::string> environment{"nssm", "set", service.name, "AppEnvironmentExtra"};
        for (const auto& [name, value] : service.environment) environment.push_back(name + "=" + value);
        lines.push_back(line(std::move(environment)));
        lines.push_back(line({"nssm", "set", service.name, "AppDirectory", node.folder}));
        for (const char* stream : {"AppStdout", "AppStderr"}) {
            lines.push_back(line({"nssm", "set", service.name, stream, node.log_folder + "\\" + service.name + ".out.log"}));
        }
        if (!service.depends_on.empty()) lines.push_back("nssm set " + service.name + " DependOnService " + join(service.depends_on, " "));
    }
    for (const ServiceDefinition& service : services) lines.push_back("nssm start " + service.name);
    return lines;
}

}  // namespace porthole::node_join
