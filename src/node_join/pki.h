#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "net/tls/x509.h"
#include "node_join/key_pair.h"
#include "node_join/pki_files.h"
#include "runtime/event_loop.h"

namespace porthole::node_join {

/// The cluster's own certificate authorities and what they issued, as files of mode 0600 in one folder. Made at first start;
/// ensure() replaces certificates in their last third. Short blocking calls; one process at a time.
class Pki {
public:
    struct Names {
        std::vector<std::string> dns, addresses;  ///< of the API server
    };
    /// Error: Io, or BadRequest for a file that is not what its name says.
    static Result<Pki> ensure(const std::filesystem::path& folder, const Names& server, SystemTime now);
    /// Only what is there. Error: NotFound.
    static Result<Pki> load(const std::filesystem::path& folder);

    std::string ca_pem;          ///< the authority that signs, and while it is being rotated the one before as well
    KeyPair kubelet_serving_ca;  ///< issues what kubelets serve with, and nothing else
    KeyPair front_proxy_ca;      ///< of the certificate below, and nothing else
    KeyPair front_proxy_client;  ///< the API server's own, towards extension API servers
    KeyPair server;              ///< serves the API
    KeyPair admin;               ///< system:masters
    KeyPair kubelet_client;      ///< the API server's own, towards kubelets
    std::string service_account_key_pem;
    std::string previous_service_account_key_pem;  ///< whose tokens still hold, while it is being rotated; else ""

    /// Until when a kubelet whose certificate does not verify is still asked: a cluster that is older than its authority for kubelets has
    /// nodes that have no certificate of it yet. The epoch for all others.
    SystemTime kubelets_unverified_until{};

    /// A client certificate for `node` as system:node:<name> of group system:nodes.
    Result<KeyPair> issue_node(const std::string& name, SystemTime now) const;
    Result<KeyPair> issue_client(const std::string& common_name, const std::vector<std::string>& groups, SystemTime now) const;
    /// "sha256:<hex>" of the public key of the CA that signs, as join commands carry it.
    Result<std::string> ca_hash() const;
    const std::string& ca_key_pem() const { return ca_key_pem_; }

private:
    std::string ca_key_pem_;
};

}  // namespace porthole::node_join
