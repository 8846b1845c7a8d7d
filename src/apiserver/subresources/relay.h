#pragma once
#include "apiserver/handlers/request_context.h"
#include "apiserver/subresources/connector.h"

namespace porthole::apiserver {

/// Whether the request wants to leave HTTP, for SPDY or WebSocket.
bool wants_upgrade(const net::HttpRequest& request);

/// Passes the request on to `path` and `query` at the target and its answer back: streamed as it comes, or, after an upgrade, as
/// bytes both ways. `connector` may be null: then the error says that this server cannot reach nodes.
Task<> relay_request(RequestContext& context, Connector* connector, ConnectTarget target, std::string path, std::string query,
                     EventLoop& loop);

/// The same for kubelets, whose failures come as plain text and become a Status.
Task<> relay_to_kubelet(RequestContext& context, Connector* connector, ConnectTarget target, std::string path, std::string query,
                        EventLoop& loop);

}  // namespace porthole::apiserver
