#pragma once
// The groups of methods. Private to this folder.
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "api/csiproxy_v1.h"
#include "api/csiproxy_v1alpha1.h"
#include "csi_proxy/host.h"
#include "csi_proxy/path_rules.h"
#include "net/grpc/grpc.h"
#include "runtime/worker_pool.h"
#include "schema/protobuf/protobuf.h"

namespace porthole::csi_proxy {

/// The collaborators of a group's methods; all outlive it.
struct GroupContext {
    WorkerPool& pool;
    const PathRules& paths;
    Host host;
};

/// Registers methods of one group.
class Methods {
public:
    /// `packages`: those of other versions of the group with the same messages.
    Methods(net::GrpcHandler& grpc, std::vector<std::string_view> packages) : grpc_(grpc), packages_(std::move(packages)) {}

    template <class Method>
    void add(const Method& method, std::function<Task<typename Method::Response>(typename Method::Request)> answer) {
        const std::string path(method.path);
        const auto handler = [answer = std::move(answer)](std::string bytes) { return run<Method>(answer, std::move(bytes)); };
        grpc_.add(path, handler);
        for (const std::string_view package : packages_) grpc_.add("/" + std::string(package) + path.substr(path.find('.')), handler);
    }

private:
    template <class Method>
    static Task<std::string> run(std::function<Task<typename Method::Response>(typename Method::Request)> answer, std::string bytes) {
        CO_TRY(auto request, schema::decode_protobuf<typename Method::Request>(bytes));
        CO_TRY(const auto response, co_await answer(std::move(request)));
        co_return schema::encode_protobuf(response);
    }

    net::GrpcHandler& grpc_;
    std::vector<std::string_view> packages_;
};

/// The error of a group whose part of the host is null.
inline Error not_on_this_host(const char* what) {
    return Error(Reason::MethodNotAllowed, std::string(what) + " are not available on this host");
}

/// Checks that a driver may change it: it is not a disk of Windows itself, and has no path outside the drivers' directories. Error:
/// Forbidden, with `what` in the message.
Result<void> check_use(const HostUse& use, const PathRules& paths, const std::string& what);

/// The result of each must live as long as `grpc` serves. One function for each line of groups.def.
using Group = std::shared_ptr<void>;
#define CSI_PROXY_GROUP(name, version) Group make_##name##_group(GroupContext context, net::GrpcHandler& grpc);
#define CSI_PROXY_ALSO(name, version)
#include "csi_proxy/groups.def"
#undef CSI_PROXY_GROUP
#undef CSI_PROXY_ALSO

}  // namespace porthole::csi_proxy
