#pragma once
#include "apiserver/handlers/request_context.h"
#include "apiserver/subresources/connector.h"
#include "apiserver/subresources/proxied_links.h"

namespace porthole::apiserver {

/// Whether the request wants to leave HTTP, for SPDY or WebSocket.
bool wants_upgrade(const net::HttpRequest& request);

/// The request as another server gets it: without what names the user or proves who it is, and without what belongs to a connection.
net::HttpRequest request_to_pass_on(const net::HttpRequest& request, std::string path, std::string query);
/// Passes an answer back as it comes.
Task<> pass_back(RequestContext& context, net::HttpBody& body);
/// Passes back what an upgrade was answered, and then bytes both ways.
Task<> pass_back_upgrade(RequestContext& context, net::Upgraded answered, EventLoop& loop);

/// Passes the request on to `path` and its own query at the target and its answer back: streamed as it comes, or, after an upgrade, as
/// bytes both ways. Redirects and links of HTML lead through the proxy at `prefix`, the beginning of the request's path. `connector` may be
/// null: then the error says that this server cannot reach nodes.
Task<> relay_through_proxy(RequestContext& context, Connector* connector, ConnectTarget target, std::string prefix, std::string path,
                           EventLoop& loop);

/// Passes it on to a kubelet, whose failures come as plain text and become a Status.
Task<> relay_to_kubelet(RequestContext& context, Connector* connector, ConnectTarget target, std::string path, std::string query,
                        EventLoop& loop);

/// A GET of a kubelet's that is answered piece by piece, such as a log. Where the request begins a WebSocket, each piece is a message of
/// its own: as it is (binary.k8s.io) or as text (base64.binary.k8s.io).
Task<> stream_from_kubelet(RequestContext& context, Connector* connector, ConnectTarget target, std::string path, std::string query,
                           EventLoop& loop);

}  // namespace porthole::apiserver
