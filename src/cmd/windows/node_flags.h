#pragma once
#include "cmd/program/flags.h"
#include "node_join/windows_node/node_plan.h"

namespace porthole::cmd {

/// Flags of commands whose kubeconfig is already in the node's directory, as `config`.
void add_node_flags(CLI::App& app, node_join::WindowsNode& node);
/// Sets name and address if not given. Error: BadRequest; NotFound if there is no kubeconfig with the server's address.
Result<void> complete_node(node_join::WindowsNode& node);

}  // namespace porthole::cmd
