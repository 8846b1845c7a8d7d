#include "node_join/windows_node/firewall.h"

namespace porthole::node_join {
namespace {

Command netsh(std::string verb, const std::string& name, std::vector<std::string> more = {}) {
    Command command{.arguments = {"netsh", "advfirewall", "firewall", std::move(verb), "rule", "name=" + name},
                    .limit = std::chrono::seconds(30)};
    command.arguments.insert(command.arguments.end(), more.begin(), more.end());
    return command;
}

}  // namespace

Task<> ensure_firewall_rule(ProcessRunner& processes, FirewallRule rule) {
    // Rules of one name add up.
    CO_TRY_VOID(co_await remove_firewall_rule(processes, rule.name));
    CO_TRY_VOID(co_await processes.run(
        netsh("add", rule.name, {"dir=in", "action=allow", "protocol=" + rule.protocol, "localport=" + std::to_string(rule.port)})));
    CO_TRY(const CommandOutput shown, co_await processes.run(netsh("show", rule.name)));
    if (shown.exit_code != 0 || !shown.output.contains(rule.name)) {
        co_return Error(Reason::Unavailable, "the firewall of this system keeps no rules: let " + rule.protocol + " " +
                                                 std::to_string(rule.port) + " in by other means if it blocks it");
    }
    co_return {};
}

Task<> remove_firewall_rule(ProcessRunner& processes, std::string name) {
    auto removed = co_await processes.run(netsh("delete", name));
    co_return removed ? Result<void>() : Result<void>(removed.error());
}

}  // namespace porthole::node_join
