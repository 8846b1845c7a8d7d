#pragma once
#include "net/port_forward.h"

namespace porthole::net {

// Port-forward in the channels of one WebSocket (v4.channel.k8s.io), as some client libraries speak it: two channels for each
// port that the request names, its bytes and its error text, each begun with the port's number. No message ends one direction
// only: a port is over when the pod has ended its answer, and the WebSocket is closed when all are.

/// Whether that is wanted, and not the tunnel of accept_port_forward().
bool is_port_channels_request(const HttpRequest& request);

/// Answers the upgrade and carries each port of the query ("port", several by comma or repeated) through `far`, until all are
/// over or the client is gone. Error: as accept_remote_command(); BadRequest also for wrong ports, with nothing sent yet.
Task<> serve_port_channels(EventLoop& loop, const HttpRequest& request, HttpResponder& responder, PortForwardClient& far);

}  // namespace porthole::net
