#include "cmd/windows/node_object.h"

namespace porthole::cmd {
namespace {

namespace core = api::core::v1;

/// "key=value"; the value may be missing.
std::pair<std::string, std::string> split_pair(const std::string& text) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos) return {text, ""};
    return {text.substr(0, equals), text.substr(equals + 1)};
}

/// "key=value:effect" or "key:effect", as --register-with-taints of the kubelet.
Result<core::Taint> read_taint(const std::string& text) {
    const std::size_t colon = text.rfind(':');
    if (colon == std::string::npos || colon == 0 || colon + 1 == text.size())
        return Error(Reason::BadRequest, "--taint: \"" + text + "\" must look like key=value:NoSchedule");
    core::Taint taint;
    std::tie(taint.key, taint.value) = split_pair(text.substr(0, colon));
    taint.effect = text.substr(colon + 1);
    return taint;
}

core::NodeAddress address(const char* type, const std::string& value) {
    core::NodeAddress made;
    made.type = type;
    made.address = value;
    return made;
}

}  // namespace

Result<core::Node> first_node(const WindowsNode& node, const kubelet::HostFacts& facts) {
    core::Node made;
    made.metadata.name = node.name;
    made.metadata.annotations["volumes.kubernetes.io/controller-managed-attach-detach"] = "true";
    std::map<std::string, std::string>& labels = made.metadata.labels;
    for (const char* prefix : {"kubernetes.io/", "beta.kubernetes.io/"}) {
        labels[std::string(prefix) + "os"] = facts.operating_system;
        labels[std::string(prefix) + "arch"] = facts.architecture;
    }
    if (!facts.windows_build.empty()) labels["node.kubernetes.io/windows-build"] = facts.windows_build;
    labels["kubernetes.io/hostname"] = node.name;
    for (const std::string& label : node.labels) labels.insert(split_pair(label));
    for (const std::string& text : node.taints) {
        TRY(made.spec.taints.emplace_back(), read_taint(text));
    }
    made.status.addresses = {address(core::NodeAddressType::InternalIP, node.ip), address(core::NodeAddressType::Hostname, node.name)};
    return made;
}

Task<bool> ensure_node(client::Client& client, core::Node node) {
    const auto made = co_await client.create(std::move(node));
    if (!made && made.error().reason != Reason::AlreadyExists) co_return Error(made.error()).with_context("making the node's object");
    co_return made.has_value();
}

}  // namespace porthole::cmd
