#pragma once
#include <memory>
#include <optional>
#include <string>

#include "net/byte_stream.h"
#include "runtime/task.h"

namespace porthole::client {

/// One request to an API server, as far as a client decides it.
struct ApiRequest {
    std::string method;        ///< GET, POST, PUT, PATCH, DELETE
    std::string path;          ///< for example "/api/v1/namespaces/default/pods"
    std::string query;         ///< encoded, without "?"
    std::string content_type;  ///< of the body; "" means application/json
    std::string body;
    std::string accept;  ///< "" means application/json
};

/// A server's answer.
struct ApiResponse {
    int code = 0;
    net::Bytes body;  ///< JSON; a Status when the code is 400 or more
};

/// A watch: one JSON watch event (type and object) at a time. Destroying it ends the watch.
class ApiStream {
public:
    virtual ~ApiStream() = default;
    /// nullopt if the server ends the watch in good order. Errors: Unavailable if the connection breaks off, Cancelled.
    virtual Task<std::optional<net::Bytes>> next() = 0;
};

/// How a Client reaches its server: over TLS, or in the server's own process directly to the handlers. Used on one loop; must outlive its
/// tasks and streams.
class Transport {
public:
    virtual ~Transport() = default;
    /// Error: Unavailable if the server cannot be reached. Failures of the API are data in the response.
    virtual Task<ApiResponse> call(ApiRequest request) = 0;
    /// Error: as call(), and the server's Status turned into an Error when the watch is refused.
    virtual Task<std::unique_ptr<ApiStream>> watch(ApiRequest request) = 0;
};

}  // namespace porthole::client
