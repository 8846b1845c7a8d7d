#pragma once
#include "net/tls/x509.h"
#include "provision/control_plane_description.h"
#include "provision/etcd_host.h"

namespace porthole::provision {

/// The files of `host`'s member that are known by their hashes: its unit, the authority's key, and `issued`, which tells for which keys and
/// address the certificates are that lie next to it.
EtcdFiles etcd_files(const ControlPlaneDescription& plane, const MachineDescription& host, const net::CertificateAuthority& authority,
                     const EtcdFacts& facts);

/// Whether a machine that says `facts` has all that its member is started with.
bool has_etcd_files(const EtcdFacts& facts, const EtcdFiles& files, const net::CertificateAuthority& authority);

}  // namespace porthole::provision
