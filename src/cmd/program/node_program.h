#pragma once
#include <string>

#include "cmd/program/runtime_setup.h"

namespace porthole::cmd {

/// A long-lived program of a node, such as the kubelet.
class NodeProgram {
public:
    virtual ~NodeProgram() = default;
    /// Error: what keeps it from starting, in one line.
    virtual Task<> start() = 0;
    virtual Task<> close() = 0;
    /// Called with what kept it from starting or from ending in good order: a service has no standard error, so it goes to the log.
    virtual void failed(const Error&) {}
};

/// Starts the program, waits until it shall stop and closes it. It stops by a signal or Ctrl-C; with a `service` name (Windows), when
/// the service manager says so. Exit codes: 0 after a clean stop, 1 after an error.
int run_node_program(RealWorld& world, NodeProgram& program, const std::string& service = "");

}  // namespace porthole::cmd
