#pragma once
#include "apiserver/server.h"
#include "client/transport.h"
#include "runtime/scope.h"

namespace porthole::apiserver {

/// The API for components in the server's own process: directly to the handlers, as a given user, without sockets.
///
/// May be used from another loop than the server's: requests and answers are posted between the two. Close it, on the server's
/// loop, before the server is destroyed; its users must have ended before that.
class LocalTransport final : public client::Transport {
public:
    /// `agent` is a User-Agent: the audit log has all of it, managedFields the part before "/". `fence`, unless null, prevents the user
    /// from writing once another server runs it.
    LocalTransport(Server& server, EventLoop& server_loop, User user, std::string agent,
                   std::shared_ptr<const LeaderFence> fence = nullptr);
    ~LocalTransport() override;

    Task<client::ApiResponse> call(client::ApiRequest request) override;
    Task<std::unique_ptr<client::ApiStream>> watch(client::ApiRequest request) override;

    Task<> close();

private:
    struct Impl;
    std::shared_ptr<Impl> impl_;
};

}  // namespace porthole::apiserver
