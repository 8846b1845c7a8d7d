#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/event_loop.h"

/// An administrator's operations on the files of a Pki while its server runs: the server applies changes within a minute.
namespace porthole::node_join {

/// One certificate in the directory. A plain value.
struct PkiEntry {
    std::string name;  ///< of the files, without their suffix
    std::string subject;
    std::string authority;  ///< the name of the authority's files; "" for one that signs itself
    SystemTime expires;
};
/// Every certificate in the directory with a known name, authorities first. Errors: NotFound, Io, BadRequest.
Result<std::vector<PkiEntry>> list_certificates(const std::filesystem::path& folder);

/// Replaces a certificate by one with a new key for the same subject. Errors: BadRequest for a name that is not such a certificate's.
Result<void> renew_certificate(const std::filesystem::path& folder, const std::string& name, SystemTime now);

/// The rotation of the key that signs service accounts' tokens. Before it there is sa.key. Starting moves that to sa-previous.key and
/// creates another: new tokens are signed with the new key, and tokens of both are valid. Finishing removes the previous key: its tokens
/// become invalid.
struct KeyRotation {
    bool in_progress = false;
    SystemTime started{};
};
Result<KeyRotation> service_account_key_rotation(const std::filesystem::path& folder);
/// Error: AlreadyExists while one is in progress.
Result<void> start_service_account_key_rotation(const std::filesystem::path& folder, SystemTime now);
/// Errors: NotFound if none is in progress; Conflict within PodTokensRenewed of the start, unless `force`: pods may still have tokens of
/// the previous key.
Result<void> finish_service_account_key_rotation(const std::filesystem::path& folder, SystemTime now, bool force);
inline constexpr Duration PodTokensRenewed = std::chrono::hours(25);  ///< kubelets renew a pod's token within a day

}  // namespace porthole::node_join
