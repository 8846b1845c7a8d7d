#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace porthole::csi_proxy {

/// The paths that a driver may use. A driver runs in a container: its input is not trusted.
class PathRules {
public:
    static constexpr std::size_t LongestPath = 260;

    /// Paths below `directories` are allowed: the kubelet's, and others that an administrator names. Error: BadRequest for one that is not
    /// an absolute path on a drive.
    static Result<PathRules> create(const std::vector<std::string>& directories);

    /// The path with one backslash between names and none at its end. Error: BadRequest if it is not an absolute path on a drive below one
    /// of the directories, is too long, or contains "..", ":" or a character that is invalid in Windows names.
    Result<std::string> check(const std::string& path) const;
    /// The directory that a checked path is below.
    const std::string& directory_of(const std::string& path) const;

private:
    explicit PathRules(std::vector<std::string> directories) : directories_(std::move(directories)) {}
    const std::string* find(const std::string& path) const;
    std::vector<std::string> directories_;
};

/// "\\server\share", optionally with directories below. Error: BadRequest.
Result<void> check_share(const std::string& remote);
/// "\\?\Volume{…}\". Error: BadRequest.
Result<void> check_volume(const std::string& id);
/// Of a service: letters, digits, '-', '_', '.', '$' and ' '. Error: BadRequest.
Result<void> check_service(const std::string& name);

/// Of an iSCSI portal: a host name or an IP address, and a port. Error: BadRequest.
Result<void> check_target_portal(const std::string& address, std::uint32_t port);
/// The name of an iSCSI target, "iqn.2001-04.com.example:disk", "eui.…" or "naa.…" (RFC 7143, section 4.2.7). Error: BadRequest.
Result<void> check_target(const std::string& name);

}  // namespace porthole::csi_proxy
