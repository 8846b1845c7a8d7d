#include "apiserver/kinds/core/windows_options.h"

#include <algorithm>
#include <functional>
#include <string_view>

#include "apiserver/validation/names.h"

namespace porthole::apiserver {
namespace {

constexpr std::size_t LargestCredentialSpec = 64 << 10, LongestDomain = 255, LongestUser = 104, LongestNetBiosName = 15, LongestLabel = 63;

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

void validate_user(std::string_view user, const std::function<void(const char*)>& refuse) {
    if (user.empty()) refuse("runAsUserName's User cannot be empty");
    if (user.size() > LongestUser) refuse("runAsUserName's User length must not be longer than 104 characters");
    if (!user.empty() && user.find_first_not_of(". ") == user.npos) refuse("runAsUserName's User cannot contain only periods or spaces");
    if (user.find_first_of("\"/\\:;|=,+*?<>@[]") != user.npos)
        refuse("runAsUserName's User cannot contain the following characters: \"/\\:;|=,+*?<>@[]");
}

/// "USER" or "DOMAIN\USER".
void validate_account(const std::string& name, const FieldPath& path, FieldErrors& errors) {
    const std::function<void(const char*)> refuse = [&](const char* why) { errors.invalid(path, name, why); };
    if (name.empty()) return refuse("runAsUserName cannot be an empty string");
    if (std::ranges::any_of(name, is_control)) return refuse("runAsUserName cannot contain control characters");
    const std::size_t backslash = name.find('\\');
    if (backslash == name.npos) return validate_user(name, refuse);
    if (name.find('\\', backslash + 1) != name.npos) return refuse("runAsUserName cannot contain more than one backslash");
    const std::string_view domain = std::string_view(name).substr(0, backslash);
    if (domain.size() > LongestDomain) refuse("runAsUserName's Domain length must be under 256 characters");
    if (!is_netbios_name(domain) && !is_dns_name(domain)) refuse("runAsUserName's Domain doesn't match the NetBios nor the DNS format");
    validate_user(std::string_view(name).substr(backslash + 1), refuse);
}

}  // namespace

void validate_windows_options(const api::core::v1::WindowsSecurityContextOptions& options, const FieldPath& path, FieldErrors& errors) {
    if (options.gmsa_credential_spec_name)
        invalid_all(errors, path / "gmsaCredentialSpecName", *options.gmsa_credential_spec_name,
                    names::check_dns1123_subdomain(*options.gmsa_credential_spec_name));
    if (options.gmsa_credential_spec) {
        const std::string& text = *options.gmsa_credential_spec;
        if (text.empty()) errors.invalid(path / "gmsaCredentialSpec", text, "gmsaCredentialSpec cannot be an empty string");
        if (text.size() > LargestCredentialSpec)
            errors.invalid(path / "gmsaCredentialSpec", text, "gmsaCredentialSpec size must be under 64 KiB");
    }
    if (options.run_as_user_name) validate_account(*options.run_as_user_name, path / "runAsUserName", errors);
}

}  // namespace porthole::apiserver
