#include "winhost/images/content/os_version.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace porthole::winhost {

Result<OsVersion> OsVersion::parse(std::string_view text) {
    std::array<std::uint32_t, 4> parts{};
    std::size_t count = 0;
    const char* at = text.data();
    const char* const end = at + text.size();
    while (count < parts.size()) {
        const auto [next, error] = std::from_chars(at, end, parts[count]);
        if (error != std::errc()) break;
        at = next;
        ++count;
        if (at == end || *at != '.') break;
        ++at;
    }
    if (at != end || count < 3 || text.ends_with('.')) {
        return Error(Reason::BadRequest, "\"" + std::string(text) + "\" is not a Windows version, such as 10.0.20348.2113");
    }
    return OsVersion{parts[0], parts[1], parts[2], parts[3]};
}

std::string OsVersion::build_text() const { return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(build); }

std::string OsVersion::text() const { return revision == 0 ? build_text() : build_text() + "." + std::to_string(revision); }

const std::vector<Compatibility>& known_compatibility() {
    static const std::vector<Compatibility> table{{20348, 20348}, {0, 0}};
    return table;
}

bool can_run(const OsVersion& host, const OsVersion& image, const std::vector<Compatibility>& table) {
    if (host.major != image.major || host.minor != image.minor || image.build > host.build) return false;
    const auto row = std::ranges::find_if(table, [&](const Compatibility& each) { return host.build >= each.from_host_build; });
    if (row == table.end() || row->oldest_container_build == 0) return image.build == host.build;
    return image.build >= row->oldest_container_build;
}

std::string os_mismatch(const std::string& image, const OsVersion& host) {
    const auto version = image.empty() ? Result<OsVersion>(OsVersion()) : OsVersion::parse(image);
    if (image.empty() || !version || can_run(host, *version)) return "";
    return "ImageOSVersionMismatch: the image is for Windows " + image + ", the host is " + host.text() +
           ": The container operating system does not match the host operating system. (0xc0370101)";
}

}  // namespace porthole::winhost
