#pragma once
#include <string>

#include "apiserver/api_server.h"
#include "apiserver/local_client_set.h"

namespace porthole::apiserver {

/// The API for a component in the server's own process: as the component itself, and as the service accounts of kube-system for its parts.
/// Rights follow from their roles. Used and closed as a LocalClientSet; `api` outlives it.
class LocalClients {
public:
    /// `component`, such as "kube-scheduler", acts as system:kube-scheduler. `fence`, unless null, prevents it from writing once another
    /// server runs it.
    LocalClients(ApiServer& api, std::string component, std::shared_ptr<const LeaderFence> fence = nullptr);

    /// `account` "" is the component itself.
    client::Client& of(const std::string& account = "") { return clients_.of(account); }
    Task<> close() { return clients_.close(); }

private:
    LocalClientSet clients_;
};

}  // namespace porthole::apiserver
