#pragma once
#include <memory>
#include <string>

#include "client/client.h"
#include "client/transport.h"
#include "runtime/asio_loop.h"

namespace porthole::local_cluster {

/// A client with the rights of the kubeconfig's user. Owns its transport; used on the loop that it was made for.
struct AdminClient {
    std::unique_ptr<client::Transport> transport;
    client::Client client{*transport};
    std::string server, ca_pem, certificate_pem;
    bool direct = false;  ///< a server of this machine: see client::ClientConfig
};

/// `kubeconfig` "" means the cluster on this machine in `data`, if there is one, else what kubectl would use. What is named and is not
/// there is an error.
/// Errors: NotFound, BadRequest, Io.
Result<std::unique_ptr<AdminClient>> connect_as_admin(AsioLoop& loop, const std::string& kubeconfig, const std::string& data);

}  // namespace porthole::local_cluster
