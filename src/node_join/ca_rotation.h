#pragma once
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/event_loop.h"

/// Replaces the cluster's certificate authority while everything runs: docs/design/identities.md.
///
/// Between start and finish ca.crt contains the new authority, which signs, and then the old one. The new one is also certified by the old
/// one (ca-cross.crt), and that certificate is part of the server's chain, so that peers that know only the old authority verify it. Each
/// step is recorded in one file that is written first: if a crash interrupts it, the next program that reads the directory completes it.
namespace porthole::node_join {

/// A rotation that is in progress. A plain value.
struct CaRotation {
    SystemTime started{};
    std::string current, previous;  ///< ids of the two authorities, see authority_ids()
};
/// nullopt if none is in progress. Errors: Io, BadRequest.
Result<std::optional<CaRotation>> ca_rotation(const std::filesystem::path& folder);
/// Error: AlreadyExists while one is in progress; NotFound if there is no authority.
Result<void> start_ca_rotation(const std::filesystem::path& folder, SystemTime now);
/// Removes the old authority, even if something still depends on it. Error: NotFound if no rotation is in progress.
Result<void> finish_ca_rotation(const std::filesystem::path& folder);
/// Completes an interrupted start or finish; no effect otherwise. Safe to repeat, and for two programs at a time.
Result<void> resume_ca_rotation(const std::filesystem::path& folder);
/// The new authority's certificate issued by the old one, to be appended to chains; "" if no rotation is in progress.
Result<std::string> cross_certificate(const std::filesystem::path& folder);

/// The SHA-256 of the public key of each certificate of a PEM text, lower-case hex, in its order. Error: BadRequest.
Result<std::vector<std::string>> authority_ids(const std::string& pem);

/// Of which authority the newest certificate was that a client has shown, and when. The server records it while a rotation is in progress.
struct ClientSighting {
    std::string authority;
    SystemTime time{};
};
using ClientSightings = std::map<std::string, ClientSighting>;  ///< by user name
/// Empty if nothing has been recorded. Errors: Io, BadRequest.
Result<ClientSightings> read_sightings(const std::filesystem::path& folder);
Result<void> write_sightings(const std::filesystem::path& folder, const ClientSightings& sightings);

/// Why a rotation cannot be finished yet: one line each, with what to do. `nodes` are the names of the cluster's nodes, and `published` is
/// whether every namespace has the new authority in kube-root-ca.crt.
std::vector<std::string> finish_blockers(const CaRotation& rotation, const ClientSightings& sightings,
                                         const std::vector<std::string>& nodes, bool published, SystemTime now);
/// In which kubelets bring a changed kube-root-ca.crt into the volumes of running pods.
inline constexpr Duration PodsFollow = std::chrono::minutes(10);

}  // namespace porthole::node_join
