#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "net/tls/x509.h"
#include "node_join/key_pair.h"
#include "runtime/event_loop.h"

/// The pieces of which a Pki is made: `name`.crt and `name`.key in its folder.
namespace porthole::node_join {

inline constexpr auto AuthorityLife = std::chrono::hours(24 * 3650);
inline constexpr auto ClockSkew = std::chrono::minutes(5);  ///< certificates begin a little earlier, for peers whose clock is behind

/// Whether there is a file of that name. Error: Io where that cannot be found out: what is there must not be taken for missing.
Result<bool> has_file(const std::filesystem::path& path);
Result<void> write_pair(const std::filesystem::path& folder, const std::string& name, const KeyPair& pair);
Result<KeyPair> read_pair(const std::filesystem::path& folder, const std::string& name);
/// A certificate for a server or else for a client, of a new key.
Result<KeyPair> issue(const net::CertificateAuthority& ca, const net::CertificateSubject& subject, bool for_server, SystemTime now);

/// Each certificate of a PEM text as a text of its own.
std::vector<std::string> split_certificates(const std::string& pem);

}  // namespace porthole::node_join
