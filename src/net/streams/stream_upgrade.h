#pragma once  // private to this folder
#include "net/http/http_client.h"

namespace porthole::net {

/// Answers an upgrade to SPDY/3.1 with the first of `protocols` that the client offers. Yields the connection; `chosen`
/// is
/// "" for clients that offer none, if `protocols` has "". Error: BadRequest, Forbidden, with nothing sent yet.
Task<std::unique_ptr<ByteStream>> accept_spdy(const HttpRequest& request, HttpResponder& responder, std::vector<std::string> protocols,
                                              std::string& chosen);
/// Asks for an upgrade to SPDY/3.1. Error: what the server answered instead.
Task<std::unique_ptr<ByteStream>> connect_spdy(HttpClient& client, std::string target, std::vector<std::string> protocols,
                                               std::string& chosen);
/// A refused upgrade as an error: the reason of the code, and the text of the body.
Error refused_upgrade(const HttpResponse& response);

/// A request for `target`, path and query together.
HttpRequest request_for(std::string method, std::string_view target);

}  // namespace porthole::net
