#pragma once
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace porthole::winhost {

/// A Windows version as images and hosts carry it: "10.0.20348.2113". The revision may be absent.
struct OsVersion {
    std::uint32_t major = 0, minor = 0, build = 0, revision = 0;

    /// Error: BadRequest.
    static Result<OsVersion> parse(std::string_view text);
    std::string text() const;        ///< "10.0.20348.2113"; without revision if that is 0
    std::string build_text() const;  ///< "10.0.20348"
    auto operator<=>(const OsVersion&) const = default;
};

/// A host build range and the oldest container build that its kernel still runs in process isolation.
struct Compatibility {
    std::uint32_t from_host_build = 0;
    std::uint32_t oldest_container_build = 0;  ///< 0: exactly the host's build
};

/// Microsoft's table, newest first: up to Windows Server 2022 the builds must be equal; from there on older images run too, back to
/// Server 2022 itself (learn.microsoft.com, "Windows container version compatibility"; hcsshim's CheckHostAndContainerCompat).
const std::vector<Compatibility>& known_compatibility();

/// Whether a process-isolated container of `image` starts on `host`.
bool can_run(const OsVersion& host, const OsVersion& image, const std::vector<Compatibility>& table = known_compatibility());

/// Windows' message (0xc0370101) if a container of an image of version `image` does not start on `host`; "" if it starts, or the version
/// cannot be parsed.
std::string os_mismatch(const std::string& image, const OsVersion& host);

}  // namespace porthole::winhost
