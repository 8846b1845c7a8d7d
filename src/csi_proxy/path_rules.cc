#include "csi_proxy/path_rules.h"

#include <algorithm>
#include <string_view>

#include "base/strings.h"

namespace porthole::csi_proxy {
namespace {

constexpr std::size_t LongestShare = 1024, LongestService = 256, LongestAddress = 255, LongestTarget = 223;
constexpr std::string_view VolumeStart = "\\\\?\\Volume{", VolumeEnd = "}\\";

Error refused(const std::string& text) { return Error(Reason::BadRequest, text); }

bool is_letter(char c) { return to_lower(c) >= 'a' && to_lower(c) <= 'z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_separator(char c) { return c == '\\' || c == '/'; }
bool has_control_character(std::string_view text) {
    return std::ranges::any_of(text, [](unsigned char c) { return c < 0x20; });
}

/// Windows drops dots and blanks at the end of a name: "... " would be ".." or another file than it says.
bool is_name(std::string_view name) {
    return name.find_first_of(":*?\"<>|") == name.npos && name.back() != '.' && name.back() != ' ' && !has_control_character(name);
}

/// With one backslash between names and none at the end.
Result<std::string> normal_path(const std::string& path) {
    if (path.size() > PathRules::LongestPath)
        return refused("path length " + std::to_string(path.size()) + " exceeds maximum characters: 260");
    if (path.size() > 1 && is_separator(path[0]) && is_separator(path[1])) return refused("unsupported UNC path prefix: " + path);
    if (path.size() < 3 || !is_letter(path[0]) || path[1] != ':' || !is_separator(path[2]))
        return refused("not an absolute Windows path: " + path);
    std::string normal = path.substr(0, 2);
    for (std::size_t at = 3; at < path.size();) {
        const std::size_t end = std::min(path.find_first_of("\\/", at), path.size());
        const std::string_view name = std::string_view(path).substr(at, end - at);
        at = end + 1;
        if (name.empty()) continue;
        if (!is_name(name)) return refused("path contains invalid characters: " + path);
        normal += "\\" + std::string(name);
    }
    return normal;
}

}  // namespace

Result<PathRules> PathRules::create(const std::vector<std::string>& directories) {
    std::vector<std::string> normal;
    for (const std::string& one : directories) {
        TRY(std::string directory, normal_path(one));
        if (directory.size() < 3) return refused("a whole drive cannot be opened to drivers: " + one);
        normal.push_back(std::move(directory));
    }
    return PathRules(std::move(normal));
}

const std::string* PathRules::find(const std::string& path) const {
    const auto found = std::ranges::find_if(directories_, [&](const std::string& directory) {
        return path.size() > directory.size() && path[directory.size()] == '\\' &&
               equal_ignoring_case(std::string_view(path).substr(0, directory.size()), directory);
    });
    return found == directories_.end() ? nullptr : &*found;
}

Result<std::string> PathRules::check(const std::string& path) const {
    TRY(std::string normal, normal_path(path));
    if (!find(normal)) return refused("path: " + path + " is not within context path: " + join(directories_, ", "));
    return normal;
}

const std::string& PathRules::directory_of(const std::string& path) const {
    const std::string* directory = find(path);
    CHECK(directory);
    return *directory;
}

Result<void> check_share(const std::string& remote) {
    const auto invalid = [&] { return refused("invalid remote path of an SMB share: " + remote.substr(0, 256)); };
    if (remote.size() > LongestShare || !remote.starts_with("\\\\") || has_control_character(remote)) return invalid();
    const std::string_view rest = std::string_view(remote).substr(2);
    const std::size_t end = rest.find('\\');
    if (end == rest.npos || end == 0 || end + 1 == rest.size() || rest.find("..") != rest.npos || rest.find("\\\\") != rest.npos)
        return invalid();
    // "\\.\" and "\\?\" are this machine's own; "$" at the end is a hidden share and allowed.
    if (rest[0] == '.' || rest.find_first_of("+[]\"/:;|<>,?*=") != rest.npos) return invalid();
    return {};
}

Result<void> check_volume(const std::string& id) {
    const bool framed = id.size() > VolumeStart.size() + VolumeEnd.size() && id.starts_with(VolumeStart) && id.ends_with(VolumeEnd);
    const std::string_view inner =
        framed ? std::string_view(id).substr(VolumeStart.size(), id.size() - VolumeStart.size() - VolumeEnd.size()) : std::string_view();
    constexpr std::size_t GuidLength = 36;
    const bool guid = inner.size() == GuidLength && std::ranges::all_of(inner, [](char c) {
                          return is_digit(c) || c == '-' || (to_lower(c) >= 'a' && to_lower(c) <= 'f');
                      });
    if (!guid) return refused("invalid volume id: " + id.substr(0, 256));
    return {};
}

Result<void> check_service(const std::string& name) {
    const auto allowed = [](char c) { return is_letter(c) || is_digit(c) || std::string_view("-_.$ ").contains(c); };
    if (name.empty() || name.size() > LongestService || !std::ranges::all_of(name, allowed))
        return refused("invalid name of a service: " + name.substr(0, LongestService));
    return {};
}

Result<void> check_target_portal(const std::string& address, std::uint32_t port) {
    const auto allowed = [](char c) { return is_letter(c) || is_digit(c) || std::string_view("-.:[]%").contains(c); };
    if (address.empty() || address.size() > LongestAddress || address[0] == '-' || !std::ranges::all_of(address, allowed))
        return refused("invalid address of an iSCSI portal: " + address.substr(0, LongestAddress));
    if (port == 0 || port > 65535) return refused("invalid port of an iSCSI portal: " + std::to_string(port));
    return {};
}

Result<void> check_target(const std::string& name) {
    const auto allowed = [](unsigned char c) {
        return c >= 0x80 || is_letter(static_cast<char>(c)) || is_digit(static_cast<char>(c)) || c == '-' || c == '.' || c == ':';
    };
    const bool known = name.starts_with("iqn.") || name.starts_with("eui.") || name.starts_with("naa.");
    if (!known || name.size() > LongestTarget || !std::ranges::all_of(name, allowed))
        return refused("invalid name of an iSCSI target: " + name.substr(0, LongestTarget));
    return {};
}

}  // namespace porthole::csi_proxy
