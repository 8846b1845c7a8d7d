#pragma once
#include <memory>
#include <string>

#include "client/client.h"
#include "client/transport.h"
#include "runtime/asio_loop.h"

namespace porthole::local_cluster {

/// A client with the rights of the kubeconfig's user. Owns its transport; used on the loop for which it was created.
struct AdminClient {
    std::unique_ptr<client::Transport> transport;
    client::Client client{*transport};
    std::string server, ca_pem, certificate_pem;
    bool direct = false;  ///< a server of this machine: see client::ClientConfig
};

/// `kubeconfig` "" means the cluster on this machine in `data`, if there is one, otherwise what kubectl would use. A named file that does
/// not exist is an error. Errors: NotFound, BadRequest, Io; Unavailable if the cluster on this machine does not run.
Result<std::unique_ptr<AdminClient>> connect_as_admin(AsioLoop& loop, const std::string& kubeconfig, const std::string& data);

}  // namespace porthole::local_cluster
