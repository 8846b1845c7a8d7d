#pragma once
#include "cmd/flags.h"
#include "cmd/windows/node_plan.h"

namespace porthole::cmd {

/// Flags of the commands that take a kubeconfig which is in the folder already, as `config`.
void add_node_flags(CLI::App& app, WindowsNode& node);
/// Name and address where none is given. Error: BadRequest, NotFound when there is no kubeconfig to tell the server's address.
Result<void> complete_node(WindowsNode& node);

}  // namespace porthole::cmd
