#pragma once
#include "kubelet/cri/cri.h"
#include "net/http/http.h"
#include "net/streams/remote_command.h"

namespace porthole {
class AsioLoop;
}

namespace porthole::kubelet {

// Connects a client to the container runtime's streaming server: asks the runtime for an address, and copies bytes between the two until
// one ends. References must outlive the task.

/// `request` asks for an upgrade; the answer is written here. Errors occur before anything is sent.
Task<> stream_exec(AsioLoop& loop, RuntimeService& runtime, net::HttpRequest request, net::HttpResponder& responder,
                   std::string container_id, std::vector<std::string> command, net::RemoteCommandOptions options);
Task<> stream_attach(AsioLoop& loop, RuntimeService& runtime, net::HttpRequest request, net::HttpResponder& responder,
                     std::string container_id, net::RemoteCommandOptions options);
Task<> stream_port_forward(AsioLoop& loop, RuntimeService& runtime, net::HttpRequest request, net::HttpResponder& responder,
                           std::string sandbox_id);

}  // namespace porthole::kubelet
