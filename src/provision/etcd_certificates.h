#pragma once
#include <memory>
#include <string>

#include "net/tls/tls.h"
#include "net/tls/x509.h"
#include "runtime/event_loop.h"

/// Who may talk to the etcd of a control plane: what has a certificate of its own authority, which is not the cluster's, as each node
/// has one of that.
namespace porthole::provision {

/// The authority of a new etcd.
net::CertificateAuthority new_etcd_authority(SystemTime now);
/// A certificate for the key of a member at that address, or, without one, of a client; as long as the authority is valid. `public_key` is
/// base64 of its DER form. Error: BadRequest.
Result<std::string> issue_for_etcd(const net::CertificateAuthority& authority, const std::string& public_key, const std::string& address,
                                   SystemTime now);
/// For this run, with a key that is written nowhere. Error: BadRequest.
Result<std::shared_ptr<const net::TlsClientContext>> etcd_client_of_run(const net::CertificateAuthority& authority, SystemTime now);

}  // namespace porthole::provision
