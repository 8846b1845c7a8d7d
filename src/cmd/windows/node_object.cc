#include "cmd/windows/node_object.h"

#include "kubelet/node/node_object.h"

namespace porthole::cmd {

using namespace std::chrono_literals;
namespace core = api::core::v1;

Result<core::Node> first_node(const WindowsNode& node, const kubelet::HostFacts& facts) {
    kubelet::NodeIdentity identity{.name = node.name, .addresses = {node.ip}};
    for (const std::string& label : node.labels) identity.labels.insert(kubelet::parse_label(label));
    for (const std::string& text : node.taints) {
        auto taint = kubelet::parse_taint(text);
        if (!taint) return std::move(taint).error().with_context("--taint");
        identity.taints.push_back(*std::move(taint));
    }
    core::Node made = kubelet::new_node(identity, facts);
    made.status.addresses = kubelet::node_addresses(identity);
    return made;
}

Task<std::string> introduce_node(client::Transport& transport, core::Node node) {
    client::Client client(transport);
    const std::string name = node.metadata.name;
    const auto made = co_await with_timeout(client.create(std::move(node)), 30s, "making the node's object");
    if (made) co_return "node " + name + " is registered";
    if (made.error().reason == Reason::AlreadyExists) co_return "node " + name + " was already registered";
    co_return Error(made.error()).with_context("making the node's object");
}

}  // namespace porthole::cmd
