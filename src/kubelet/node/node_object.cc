#include "kubelet/node/node_object.h"

#include <algorithm>
#include <cctype>

#include "windows/runtime.h"

namespace porthole::kubelet {
namespace {

const std::string& hostname_of(const NodeIdentity& identity) { return identity.hostname.empty() ? identity.name : identity.hostname; }

/// A runtime may say what it likes; the whole report would be refused for a label that is none.
bool is_label_value(const std::string& text) {
    constexpr std::size_t Longest = 63;
    const auto is_alphanumeric = [](unsigned char c) { return c < 0x80 && std::isalnum(c); };
    if (text.empty() || text.size() > Longest || !is_alphanumeric(text.front()) || !is_alphanumeric(text.back())) return false;
    return std::ranges::all_of(text, [&](unsigned char c) { return is_alphanumeric(c) || c == '.' || c == '-' || c == '_'; });
}

core::NodeAddress address(const char* type, const std::string& value) {
    core::NodeAddress made;
    made.type = type;
    made.address = value;
    return made;
}

}  // namespace

std::pair<std::string, std::string> parse_label(const std::string& text) {
    const std::size_t equals = text.find('=');
    if (equals == text.npos) return {text, ""};
    return {text.substr(0, equals), text.substr(equals + 1)};
}

Result<core::Taint> parse_taint(const std::string& text) {
    const std::size_t colon = text.rfind(':');
    const std::string effect = colon == text.npos ? "" : text.substr(colon + 1);
    const bool known = effect == "NoSchedule" || effect == "PreferNoSchedule" || effect == "NoExecute";
    if (!known || colon == 0 || text.front() == '=')
        return Error(Reason::BadRequest, "\"" + text + "\" must look like key=value:NoSchedule");
    auto [key, value] = parse_label(text.substr(0, colon));
    return core::Taint{.key = std::move(key), .value = std::move(value), .effect = effect};
}

std::map<std::string, std::string> system_labels(const HostFacts& facts) {
    std::map<std::string, std::string> labels;
    for (const char* prefix : {"kubernetes.io/", "beta.kubernetes.io/"}) {
        labels[std::string(prefix) + "os"] = facts.operating_system;
        labels[std::string(prefix) + "arch"] = facts.architecture;
    }
    if (!facts.windows_build.empty()) labels["node.kubernetes.io/windows-build"] = facts.windows_build;
    return labels;
}

std::map<std::string, std::string> runtime_labels(const std::string& runtime_version) {
    const std::string wine = windows::wine_version_of(runtime_version);
    if (!is_label_value(wine)) return {};
    return {{std::string(windows::WineLabel), wine}};
}

std::vector<core::NodeAddress> node_addresses(const NodeIdentity& identity) {
    std::vector<core::NodeAddress> addresses;
    for (const std::string& one : identity.addresses) addresses.push_back(address(core::NodeAddressType::InternalIP, one));
    addresses.push_back(address(core::NodeAddressType::Hostname, hostname_of(identity)));
    return addresses;
}

core::Node new_node(const NodeIdentity& identity, const HostFacts& facts) {
    core::Node node;
    node.metadata.name = identity.name;
    node.metadata.labels = system_labels(facts);
    node.metadata.labels["kubernetes.io/hostname"] = hostname_of(identity);
    node.metadata.labels.insert(identity.labels.begin(), identity.labels.end());
    node.metadata.annotations["volumes.kubernetes.io/controller-managed-attach-detach"] = "true";
    node.spec.taints = identity.taints;
    node.spec.provider_id = identity.provider_id;
    return node;
}

}  // namespace porthole::kubelet
