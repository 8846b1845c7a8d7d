#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "runtime/task.h"
#include "schema/protobuf/protobuf.h"

namespace porthole::kubelet {

/// A gRPC server on a Unix socket of the node. Connects on first use, and again if the connection is lost. Lives on the kubelet's loop.
/// close() it before destroying it. Its answers are not trusted: they are limited in size.
class PluginConnection {
public:
    virtual ~PluginConnection() = default;
    /// One message each way. Error: Timeout after `limit`, Unavailable if no program listens, or the reason of the plugin's status.
    virtual Task<std::string> call(std::string method, std::string request, Duration limit) = 0;
    /// Sends one message and calls `heard` with each answer, until cancelled. Error: why there are no more, as call().
    virtual Task<> watch(std::string method, std::string request, std::function<void(const std::string& message)> heard) {
        co_return Error(Reason::MethodNotAllowed, "no streams");
    }
    virtual Task<> close() = 0;

    /// A method of the schema, such as api::pluginregistration::v1::Registration::GetInfo; at another path if `path` is given.
    template <class Method>
    Task<typename Method::Response> call(const Method& method, typename Method::Request request, Duration limit, std::string path = "") {
        CO_TRY(const std::string reply,
               co_await call(path.empty() ? std::string(method.path) : path, schema::encode_protobuf(request), limit));
        co_return schema::decode_protobuf<typename Method::Response>(reply);
    }
};

/// A gRPC server of the kubelet's own on a Unix socket. close() it before destroying it.
class PluginServer {
public:
    virtual ~PluginServer() = default;
    virtual Task<> close() = 0;
};
/// One message each way; a failure becomes the call's status.
using PluginMethod = std::function<Task<std::string>(std::string request)>;

/// Creates connections and servers; outlives them.
class PluginConnector {
public:
    virtual ~PluginConnector() = default;
    virtual std::unique_ptr<PluginConnection> connect(const std::string& socket_path) = 0;
    /// Whether a program listens there; nothing is sent. Error: Unavailable if none does.
    virtual Task<> reach(std::string socket_path) = 0;
    /// Offers methods, by their paths, to the programs that may open the socket. Error: why there can be none.
    virtual Result<std::unique_ptr<PluginServer>> serve(const std::string& /*socket_path*/,
                                                        std::map<std::string, PluginMethod> /*methods*/) {
        return Error(Reason::MethodNotAllowed, "no sockets");
    }
};

}  // namespace porthole::kubelet
