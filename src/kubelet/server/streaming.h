#pragma once
#include "kubelet/cri/cri.h"
#include "net/http/http.h"
#include "net/streams/remote_command.h"

namespace porthole {
class AsioLoop;
}

namespace porthole::kubelet {

// Connections between a client and the container runtime's streaming server: the runtime is asked for an address, and the
// two are bridged until one ends. References must outlive the task.

/// `request` wants an upgrade; the answer is written here. Errors come before anything is sent.
Task<> stream_exec(AsioLoop& loop, RuntimeService& runtime, net::HttpRequest request, net::HttpResponder& responder,
                   std::string container_id, std::vector<std::string> command, net::RemoteCommandOptions options);
Task<> stream_attach(AsioLoop& loop, RuntimeService& runtime, net::HttpRequest request, net::HttpResponder& responder,
                     std::string container_id, net::RemoteCommandOptions options);
Task<> stream_port_forward(AsioLoop& loop, RuntimeService& runtime, net::HttpRequest request, net::HttpResponder& responder,
                           std::string sandbox_id);

}  // namespace porthole::kubelet
