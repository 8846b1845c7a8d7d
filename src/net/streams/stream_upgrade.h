#pragma once  // private to this folder
#include "net/http/http_client.h"

namespace porthole::net {

/// Answers an upgrade to SPDY/3.1 with the first of `protocols` that the client offers. Returns the connection. For clients that offer
/// none, `chosen` is "" if `protocols` contains "". Error: BadRequest, Forbidden, with nothing sent.
Task<std::unique_ptr<ByteStream>> accept_spdy(const HttpRequest& request, HttpResponder& responder, std::vector<std::string> protocols,
                                              std::string& chosen);
/// Requests an upgrade to SPDY/3.1. Error: the server's answer other than 101.
Task<std::unique_ptr<ByteStream>> connect_spdy(HttpClient& client, std::string target, std::vector<std::string> protocols,
                                               std::string& chosen);
/// A refused upgrade as an error: the reason of the code, and the text of the body.
Error refused_upgrade(const HttpResponse& response);

/// A request for `target`, path and query together.
HttpRequest request_for(std::string method, std::string_view target);

}  // namespace porthole::net
