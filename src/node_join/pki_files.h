#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "net/tls/x509.h"
#include "node_join/key_pair.h"
#include "runtime/event_loop.h"

/// The files of a Pki: `name`.crt and `name`.key in its directory.
namespace porthole::node_join {

inline constexpr auto AuthorityLife = std::chrono::hours(24 * 3650);
inline constexpr auto ClockSkew = std::chrono::minutes(5);  ///< certificates are valid a little earlier, for peers whose clock is behind

/// Whether there is a file of that name. Error: Io if unknown, because an existing file must not be treated as missing.
Result<bool> has_file(const std::filesystem::path& path);
Result<void> write_pair(const std::filesystem::path& folder, const std::string& name, const KeyPair& pair);
Result<KeyPair> read_pair(const std::filesystem::path& folder, const std::string& name);
/// A certificate for a server or else for a client, of a new key.
Result<KeyPair> issue(const net::CertificateAuthority& ca, const net::CertificateSubject& subject, bool for_server, SystemTime now);

/// The certificates of a PEM text, as separate texts.
std::vector<std::string> split_certificates(const std::string& pem);

}  // namespace porthole::node_join
