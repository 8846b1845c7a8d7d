#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "node_join/key_pair.h"
#include "runtime/event_loop.h"

namespace porthole::node_join {

/// The cluster's own certificate authority and what it issued, as files of mode 0600 in one folder. Made at first start;
/// certificates in their last third are issued anew by ensure().
class Pki {
public:
    struct Names {
        std::vector<std::string> dns, addresses;  ///< of the API server
    };
    /// Error: Io, or BadRequest for a file that is not what its name says.
    static Result<Pki> ensure(const std::filesystem::path& folder, const Names& server, SystemTime now);
    /// Only what is there. Error: NotFound.
    static Result<Pki> load(const std::filesystem::path& folder);

    std::string ca_pem;
    KeyPair server;          ///< serves the API
    KeyPair admin;           ///< system:masters
    KeyPair kubelet_client;  ///< the API server's own, towards kubelets
    std::string service_account_key_pem;

    /// A client and server certificate for `node` as system:node:<name> of group system:nodes.
    Result<KeyPair> issue_node(const std::string& name, const std::string& address, SystemTime now) const;
    Result<KeyPair> issue_client(const std::string& common_name, const std::vector<std::string>& groups, SystemTime now) const;
    /// "sha256:<hex>" of the CA's public key, as join commands carry it.
    Result<std::string> ca_hash() const;
    const std::string& ca_key_pem() const { return ca_key_pem_; }

private:
    std::string ca_key_pem_;
};

}  // namespace porthole::node_join
