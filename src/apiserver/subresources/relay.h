#pragma once
#include "apiserver/handlers/request_context.h"
#include "apiserver/subresources/connector.h"
#include "apiserver/subresources/proxied_links.h"

namespace porthole::apiserver {

/// Whether the request asks for an upgrade to SPDY or WebSocket.
bool wants_upgrade(const net::HttpRequest& request);

/// The request to forward to another server: without the user's identity and credentials, and without fields of the connection.
net::HttpRequest request_to_pass_on(const net::HttpRequest& request, std::string path, std::string query);
/// Forwards an answer as it arrives.
Task<> pass_back(RequestContext& context, net::HttpBody& body);
/// Forwards the answer to an upgrade, and then bytes both ways.
Task<> pass_back_upgrade(RequestContext& context, net::Upgraded answered, EventLoop& loop);

/// Forwards the request to `path` with its own query at the target, and the answer back: streamed as it arrives, or, after an upgrade, as
/// bytes both ways. Redirects and links of HTML lead through the proxy at `prefix`, the beginning of the request's path. If `connector` is
/// null, the error says that this server cannot reach nodes.
Task<> relay_through_proxy(RequestContext& context, Connector* connector, ConnectTarget target, std::string prefix, std::string path,
                           EventLoop& loop);

/// Forwards it to a kubelet, whose plain-text errors become a Status.
Task<> relay_to_kubelet(RequestContext& context, Connector* connector, ConnectTarget target, std::string path, std::string query,
                        EventLoop& loop);

/// A GET of a kubelet that is answered piece by piece, such as a log. If the request begins a WebSocket, each piece is a message: unchanged
/// (binary.k8s.io) or as text (base64.binary.k8s.io).
Task<> stream_from_kubelet(RequestContext& context, Connector* connector, ConnectTarget target, std::string path, std::string query,
                           EventLoop& loop);

}  // namespace porthole::apiserver
