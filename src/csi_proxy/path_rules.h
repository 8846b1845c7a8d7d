#pragma once
#include <string>

#include "base/result.h"

namespace porthole::csi_proxy {

/// Which names a driver may give. A driver runs in a container: what it names is not trusted.
class PathRules {
public:
    static constexpr std::size_t LongestPath = 260;

    /// Error: BadRequest for a directory that is not an absolute path on a drive.
    static Result<PathRules> create(const std::string& kubelet_directory);

    /// The path with one backslash between names and none at its end. Error: BadRequest for what is not an absolute path on a drive below
    /// the kubelet's directory, is too long, or has "..", ":" or another character in it that no name of Windows has.
    Result<std::string> check(const std::string& path) const;
    const std::string& directory() const { return directory_; }

private:
    explicit PathRules(std::string directory) : directory_(std::move(directory)) {}
    std::string directory_;
};

/// "\\server\share", also with folders below. Error: BadRequest.
Result<void> check_share(const std::string& remote);
/// "\\?\Volume{…}\". Error: BadRequest.
Result<void> check_volume(const std::string& id);
/// "3". Error: BadRequest.
Result<std::uint32_t> parse_disk(const std::string& id);
/// Of a service: letters, digits, '-', '_', '.', '$' and ' '. Error: BadRequest.
Result<void> check_service(const std::string& name);

}  // namespace porthole::csi_proxy
