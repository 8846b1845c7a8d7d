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

/// The cluster's own certificate authorities and the certificates that they issued, as files of mode 0600 in one directory. Created at the
/// first start; ensure() replaces certificates in the last third of their life. Short blocking calls; one process at a time.
class Pki {
public:
    struct Names {
        std::vector<std::string> dns, addresses;  ///< of the API server
    };
    /// Error: Io, or BadRequest for a file with invalid content.
    static Result<Pki> ensure(const std::filesystem::path& folder, const Names& server, SystemTime now);
    /// Only existing files. Error: NotFound.
    static Result<Pki> load(const std::filesystem::path& folder);

    std::string ca_pem;          ///< the authority that signs, and while it is being rotated the one before as well
    KeyPair kubelet_serving_ca;  ///< issues kubelets' serving certificates, and nothing else
    KeyPair front_proxy_ca;      ///< issues the certificate below, and nothing else
    KeyPair front_proxy_client;  ///< the API server's own, towards extension API servers
    KeyPair server;              ///< serves the API
    KeyPair admin;               ///< system:masters
    KeyPair kubelet_client;      ///< the API server's own, towards kubelets
    std::string service_account_key_pem;
    std::string previous_service_account_key_pem;  ///< its tokens stay valid during its rotation; otherwise ""

    /// Until then, kubelets whose certificate cannot be verified are accepted: in a cluster that is older than its authority for kubelets,
    /// nodes have no certificate of it yet. The epoch for all others.
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
