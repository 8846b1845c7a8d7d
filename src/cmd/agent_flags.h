#pragma once
#include "cmd/program/flags.h"
#include "node_join/agent_options.h"

namespace porthole::cmd {

/// The flags by which a person shapes a node: of `agent`, and of `join`, which passes them on.
void add_node_flags(CLI::App& app, node_join::AgentOptions& options);

}  // namespace porthole::cmd
