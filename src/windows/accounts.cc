#include "windows/accounts.h"

#include <algorithm>
#include <cstddef>

namespace porthole::windows {
namespace {

constexpr std::size_t LongestDomain = 255, LongestUser = 104, LongestNetBiosName = 15, LongestLabel = 63;

bool is_control(char c) { return (c >= 0 && c < ' ') || c == 127; }
bool is_alphanumeric(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/// Characters rather than bytes.
std::size_t length_of(std::string_view text) {
    return static_cast<std::size_t>(std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

bool is_netbios_name(std::string_view domain) {
    const std::size_t length = length_of(domain);
    return length >= 1 && length <= LongestNetBiosName && domain.front() != '.' && domain.find_first_of("\\/:*?\"<>|") == domain.npos;
}

bool is_dns_label(std::string_view label) {
    return !label.empty() && label.size() <= LongestLabel && is_alphanumeric(label.front()) && is_alphanumeric(label.back()) &&
           std::ranges::all_of(label, [](char c) { return is_alphanumeric(c) || c == '-'; });
}

bool is_dns_name(std::string_view domain) {
    for (std::size_t start = 0;;) {
        const std::size_t dot = std::min(domain.find('.', start), domain.size());
        if (!is_dns_label(domain.substr(start, dot - start))) return false;
        if (dot == domain.size()) return true;
        start = dot + 1;
    }
}

void check_user(std::string_view user, std::vector<std::string_view>& problems) {
    if (user.empty()) problems.emplace_back("runAsUserName's User cannot be empty");
    if (user.size() > LongestUser) problems.emplace_back("runAsUserName's User length must not be longer than 104 characters");
    if (!user.empty() && user.find_first_not_of(". ") == user.npos)
        problems.emplace_back("runAsUserName's User cannot contain only periods or spaces");
    if (user.find_first_of("\"/\\:;|=,+*?<>@[]") != user.npos)
        problems.emplace_back("runAsUserName's User cannot contain the following characters: \"/\\:;|=,+*?<>@[]");
}

}  // namespace

std::vector<std::string_view> account_problems(std::string_view name) {
    if (name.empty()) return {"runAsUserName cannot be an empty string"};
    if (std::ranges::any_of(name, is_control)) return {"runAsUserName cannot contain control characters"};
    std::vector<std::string_view> problems;
    const std::size_t backslash = name.find('\\');
    if (backslash == name.npos) {
        check_user(name, problems);
        return problems;
    }
    if (name.find('\\', backslash + 1) != name.npos) return {"runAsUserName cannot contain more than one backslash"};
    const std::string_view domain = name.substr(0, backslash);
    if (domain.size() > LongestDomain) problems.emplace_back("runAsUserName's Domain length must be under 256 characters");
    if (!is_netbios_name(domain) && !is_dns_name(domain))
        problems.emplace_back("runAsUserName's Domain doesn't match the NetBios nor the DNS format");
    check_user(name.substr(backslash + 1), problems);
    return problems;
}

}  // namespace porthole::windows
