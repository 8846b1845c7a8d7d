#pragma once
#include <map>
#include <memory>
#include <string>

#include "apiserver/api_server.h"
#include "client/client.h"

namespace porthole::apiserver {

/// The API for a component in the server's own process: as the component itself, and as the service accounts of kube-system under which
/// its parts act. Each may do what its roles say.
///
/// Clients stay until this object goes. To be used from one loop; closed on the server's, after what uses the clients has ended.
class LocalClients {
public:
    /// `component` is "kube-scheduler": it acts as system:kube-scheduler.
    LocalClients(ApiServer& api, std::string component) : api_(api), component_(std::move(component)) {}

    /// `account` "" is the component itself.
    client::Client& of(const std::string& account = "");
    Task<> close();

private:
    struct Way {
        explicit Way(std::unique_ptr<LocalTransport> made) : transport(std::move(made)) {}
        std::unique_ptr<LocalTransport> transport;
        client::Client client{*transport};
    };
    ApiServer& api_;
    std::string component_;
    std::map<std::string, std::unique_ptr<Way>> ways_;
};

}  // namespace porthole::apiserver
