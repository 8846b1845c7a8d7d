#include "windows/image_builds.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <string>

#include "base/strings.h"

namespace porthole::windows {
namespace {

/// How publishers call a release in tags.
struct Release {
    std::string_view name;
    std::uint32_t build;
};
constexpr Release Releases[] = {{"sac2016", 14393}, {"ltsc2016", 14393}, {"1709", 16299},     {"1803", 17134},
                                {"1809", 17763},    {"ltsc2019", 17763}, {"1903", 18362},     {"1909", 18363},
                                {"2004", 19041},    {"20h2", 19042},     {"ltsc2022", 20348}, {"ltsc2025", 26100}};

/// Repositories that hold nothing but images for Windows.
constexpr std::string_view Repositories[] = {
    "mcr.microsoft.com/windows",
    "mcr.microsoft.com/windows/",
    "microsoft/windowsservercore",
    "microsoft/nanoserver",
    "microsoft/iis",
    "microsoft/aspnet",
    "mcr.microsoft.com/dotnet/framework/",
    "mcr.microsoft.com/oss/kubernetes/windows-host-process-containers-base-image",
};
/// Words of tags and names that only images for Windows have.
constexpr std::string_view Words[] = {"windowsservercore", "nanoserver", "servercore"};

/// Name and tag of "registry:5000/name:tag@sha256:…".
struct Parts {
    std::string name, tag;
};
Parts parts_of(std::string_view image) {
    const std::string whole = to_lower(image.substr(0, image.find('@')));
    const std::size_t colon = whole.rfind(':');
    if (colon == whole.npos || whole.find('/', colon) != whole.npos) return {whole, ""};
    return {whole.substr(0, colon), whole.substr(colon + 1)};
}

bool is_windows(const Parts& parts) {
    std::string_view name = parts.name;
    if (name.starts_with("docker.io/")) name.remove_prefix(10);
    for (const std::string_view one : Repositories)
        if (name == one || (one.ends_with('/') && name.starts_with(one))) return true;
    for (const std::string_view word : Words)
        if (name.ends_with(word) || parts.tag.contains(word)) return true;
    return parts.tag.contains("ltsc20") || parts.tag.starts_with("windows-") || parts.tag.contains("-windows");
}

/// `name` as a word of the tag: not as a part of a longer number.
bool has_word(std::string_view tag, std::string_view name) {
    for (std::size_t at = tag.find(name); at != tag.npos; at = tag.find(name, at + 1)) {
        const auto is_part = [&](std::size_t i) {
            return i < tag.size() && (std::isalnum(static_cast<unsigned char>(tag[i])) || tag[i] == '.');
        };
        const bool begins = at == 0 || !is_part(at - 1);
        if (begins && !is_part(at + name.size())) return true;
    }
    return false;
}

/// 17763 of "10.0.17763.1234-amd64"; 0 of others.
std::uint32_t build_of_version(std::string_view tag) {
    constexpr std::string_view Version = "10.0.";
    const std::size_t at = tag.find(Version);
    if (at == tag.npos || (at > 0 && tag[at - 1] != '-')) return 0;
    std::uint32_t build = 0;
    const char* const end = tag.data() + tag.size();
    const auto [rest, code] = std::from_chars(tag.data() + at + Version.size(), end, build);
    return code == std::errc() && (rest == end || *rest == '.' || *rest == '-') ? build : 0;
}

}  // namespace

bool is_windows_image(std::string_view image) { return is_windows(parts_of(image)); }

std::uint32_t build_of_image(std::string_view image) {
    const Parts parts = parts_of(image);
    if (!is_windows(parts)) return 0;
    std::uint32_t found = build_of_version(parts.tag);
    for (const Release& release : Releases) {
        if (!has_word(parts.tag, release.name)) continue;
        if (found && found != release.build) return 0;  // it says two
        found = release.build;
    }
    return found;
}

}  // namespace porthole::windows
