#pragma once
#include "cmd/program/flags.h"
#include "node_join/agent_options.h"

namespace porthole::cmd {

/// The flags of a node's own settings: of `agent`, and of `join`, which passes them on. `options` must outlive `app`.
void add_node_flags(CLI::App& app, node_join::AgentOptions& options);

}  // namespace porthole::cmd
