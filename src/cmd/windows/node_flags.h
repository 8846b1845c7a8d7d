#pragma once
#include "cmd/program/flags.h"
#include "node_join/windows_node/node_plan.h"

namespace porthole::cmd {

/// Flags of the commands that take a kubeconfig which is in the folder already, as `config`.
void add_node_flags(CLI::App& app, node_join::WindowsNode& node);
/// Name and address where none is given. Error: BadRequest, NotFound when there is no kubeconfig to tell the server's address.
Result<void> complete_node(node_join::WindowsNode& node);

}  // namespace porthole::cmd
