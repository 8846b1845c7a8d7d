#pragma once
#include <memory>
#include <string>

#include "runtime/task.h"
#include "schema/protobuf/protobuf.h"

namespace porthole::kubelet {

/// A gRPC server on a Unix socket of the node: connects when first called, and again when lost. Lives on the kubelet's loop. close() it
/// before destroying it. What it answers is not trusted: answers are bounded.
class PluginConnection {
public:
    virtual ~PluginConnection() = default;
    /// One message each way. Error: Timeout after `limit`, Unavailable when no one listens, or what the plugin's status means.
    virtual Task<std::string> call(std::string method, std::string request, Duration limit) = 0;
    virtual Task<> close() = 0;

    /// A method of the schema, such as api::pluginregistration::v1::Registration::GetInfo, at another path where `path` is given.
    template <class Method>
    Task<typename Method::Response> call(const Method& method, typename Method::Request request, Duration limit, std::string path = "") {
        CO_TRY(const std::string reply,
               co_await call(path.empty() ? std::string(method.path) : path, schema::encode_protobuf(request), limit));
        co_return schema::decode_protobuf<typename Method::Response>(reply);
    }
};

/// Makes connections; outlives them.
class PluginConnector {
public:
    virtual ~PluginConnector() = default;
    virtual std::unique_ptr<PluginConnection> connect(const std::string& socket_path) = 0;
    /// Whether someone listens there; nothing is sent. Error: Unavailable when no one does.
    virtual Task<> reach(std::string socket_path) = 0;
};

}  // namespace porthole::kubelet
