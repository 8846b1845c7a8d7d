#include "kubelet/container/network_files.h"

#include <algorithm>
#include <map>
#include <sstream>

#include "base/strings.h"

namespace porthole::kubelet {
namespace {

constexpr std::size_t LabelLimit = 63, FqdnLimit = 64;
constexpr std::size_t ServerLimit = 3, SearchLimit = 32, SearchCharacters = 2048;

std::string cut_to_label(std::string name) {
    if (name.size() > LabelLimit) name.resize(LabelLimit);
    while (!name.empty() && (name.back() == '-' || name.back() == '.')) name.pop_back();
    return name;
}

std::string alias_lines(const std::vector<core::HostAlias>& aliases) {
    if (aliases.empty()) return "";
    std::string text = "\n# Entries added by HostAliases.\n";
    for (const core::HostAlias& alias : aliases) {
        text += alias.ip;
        for (const std::string& name : alias.hostnames) text += "\t" + name;
        text += "\n";
    }
    return text;
}

void append_new(std::vector<std::string>& list, const std::vector<std::string>& more) {
    for (const std::string& one : more)
        if (std::find(list.begin(), list.end(), one) == list.end()) list.push_back(one);
}

/// Options of the pod replace those of the same name.
void merge_options(std::vector<std::string>& options, const std::vector<core::PodDNSConfigOption>& own) {
    std::map<std::string, std::size_t> places;  // the first of each name
    for (std::size_t i = 0; i < options.size(); ++i) places.emplace(options[i].substr(0, options[i].find(':')), i);
    for (const core::PodDNSConfigOption& option : own) {
        std::string text = option.value.value_or("").empty() ? option.name : option.name + ":" + *option.value;
        const auto [place, is_new] = places.try_emplace(option.name, options.size());
        if (is_new) {
            options.push_back(std::move(text));
        } else {
            options[place->second] = std::move(text);
        }
    }
}

/// Cuts to what resolvers can take; true when something was lost.
bool cut_servers(cri::DNSConfig& config) {
    if (config.servers.size() <= ServerLimit) return false;
    config.servers.resize(ServerLimit);
    return true;
}

bool cut_searches(cri::DNSConfig& config) {
    bool cut = config.searches.size() > SearchLimit;
    if (cut) config.searches.resize(SearchLimit);
    std::size_t total = 0;
    for (std::size_t i = 0; i < config.searches.size(); ++i) {
        total += config.searches[i].size() + (i > 0);
        if (total <= SearchCharacters) continue;
        config.searches.resize(i);
        return true;
    }
    return cut;
}

}  // namespace

Result<PodHostname> pod_hostname(const core::Pod& pod, const std::string& cluster_domain) {
    if (pod.spec.hostname_override) return PodHostname{*pod.spec.hostname_override, ""};
    PodHostname name;
    name.hostname = pod.spec.hostname.empty() ? cut_to_label(pod.metadata.name) : pod.spec.hostname;
    if (!pod.spec.subdomain.empty()) name.domain = pod.spec.subdomain + "." + pod.metadata.namespace_ + ".svc." + cluster_domain;
    if (pod.spec.set_hostname_as_fqdn.value_or(false) && !name.domain.empty()) {
        const std::string fqdn = name.hostname + "." + name.domain;
        if (fqdn.size() > FqdnLimit)
            return Error(Reason::BadRequest, "failed to construct FQDN from pod hostname and cluster domain, FQDN " + fqdn +
                                                 " is too long (64 characters is the max, " + std::to_string(fqdn.size()) +
                                                 " characters requested)");
    }
    return name;
}

std::string hosts_file(const std::vector<std::string>& pod_addresses, const PodHostname& name,
                       const std::vector<core::HostAlias>& aliases) {
    std::string text =
        "# Kubernetes-managed hosts file.\n"
        "127.0.0.1\tlocalhost\n"
        "::1\tlocalhost ip6-localhost ip6-loopback\n"
        "fe00::0\tip6-localnet\n"
        "fe00::0\tip6-mcastprefix\n"
        "fe00::1\tip6-allnodes\n"
        "fe00::2\tip6-allrouters\n";
    for (const std::string& address : pod_addresses) {
        text += address + "\t";
        if (!name.domain.empty()) text += name.hostname + "." + name.domain + "\t";
        text += name.hostname + "\n";
    }
    return text + alias_lines(aliases);
}

std::string host_network_hosts_file(std::string_view host_file, const std::vector<core::HostAlias>& aliases) {
    std::string text = "# Kubernetes-managed hosts file (host network).\n";
    text += host_file;
    return text + alias_lines(aliases);
}

cri::DNSConfig parse_resolv_conf(std::string_view text) {
    cri::DNSConfig config;
    std::istringstream lines{std::string(text)};
    for (std::string line; std::getline(lines, line);) {
        std::vector<std::string> fields = split_words(line);
        if (fields.size() < 2 || fields[0][0] == '#' || fields[0][0] == ';') continue;
        const std::string key = std::move(fields.front());
        fields.erase(fields.begin());
        if (key == "nameserver") {
            config.servers.push_back(fields.front());
        } else if (key == "search") {  // the last line counts
            config.searches.clear();
            for (std::string& domain : fields)
                config.searches.push_back(domain.size() > 1 && domain.ends_with('.') ? domain.substr(0, domain.size() - 1) : domain);
        } else if (key == "options") {
            append_new(config.options, fields);
        }
    }
    return config;
}

DnsOutcome pod_dns(const core::Pod& pod, const ClusterDns& cluster) {
    using Policy = core::DNSPolicy;
    DnsOutcome outcome;
    std::string policy = pod.spec.dns_policy.empty() ? std::string(Policy::ClusterFirst) : pod.spec.dns_policy;
    if (policy == Policy::ClusterFirst && pod.spec.host_network) policy = Policy::Default;
    const bool wants_cluster = policy == Policy::ClusterFirst || policy == Policy::ClusterFirstWithHostNet;
    if (wants_cluster && cluster.servers.empty()) {
        outcome.warning_reason = "MissingClusterDNS";
        outcome.warning = "kubelet does not have ClusterDNS IP configured and cannot create Pod using \"" + policy +
                          "\" policy. Falling back to \"Default\" policy.";
        policy = Policy::Default;
    }
    cri::DNSConfig& config = outcome.config;
    if (policy == Policy::Default) {
        config = cluster.host;
    } else if (policy != Policy::None) {
        config.servers = cluster.servers;
        if (!cluster.domain.empty()) {
            const std::string services = "svc." + cluster.domain;
            config.searches = {pod.metadata.namespace_ + "." + services, services, cluster.domain};
        }
        append_new(config.searches, cluster.host.searches);
        config.options = {"ndots:5"};
    }
    if (pod.spec.dns_config) {
        append_new(config.servers, pod.spec.dns_config->nameservers);
        append_new(config.searches, pod.spec.dns_config->searches);
        merge_options(config.options, pod.spec.dns_config->options);
    }
    if (cut_servers(config)) {
        outcome.warning_reason = "DNSConfigForming";
        outcome.warning = "Nameserver limits were exceeded, some nameservers have been omitted, the applied nameserver line is: " +
                          join(config.servers, " ");
    }
    if (cut_searches(config)) {
        outcome.warning_reason = "DNSConfigForming";
        outcome.warning = "Search Line limits were exceeded, some search paths have been omitted, the applied search line is: " +
                          join(config.searches, " ");
    }
    return outcome;
}

}  // namespace porthole::kubelet
