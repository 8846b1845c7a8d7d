#include "apiserver/strategy/addresses.h"

#include "apiserver/validation/names.h"
#include "base/values/ip.h"

namespace porthole::apiserver {
namespace {

struct SpecialRange {
    const char* prefix;
    const char* problem;
};
constexpr SpecialRange SpecialRanges[] = {
    {"127.0.0.0/8", "may not be in the loopback range (127.0.0.0/8, ::1/128)"},
    {"::1/128", "may not be in the loopback range (127.0.0.0/8, ::1/128)"},
    {"169.254.0.0/16", "may not be in the link-local range (169.254.0.0/16, fe80::/10)"},
    {"fe80::/10", "may not be in the link-local range (169.254.0.0/16, fe80::/10)"},
    {"224.0.0.0/24", "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"},
    {"ff02::/16", "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"},
};

}  // namespace

void check_endpoint_address(const std::string& ip, const FieldPath& path, FieldErrors& errors) {
    const auto problems = names::check_ip(ip);
    invalid_all(errors, path, ip, problems);
    const auto address = IpAddress::parse(ip);
    if (!problems.empty() || !address) return;
    if (address->to_string() == "0.0.0.0" || address->to_string() == "::")
        return errors.invalid(path, ip, "may not be unspecified (" + ip + ")");
    for (const SpecialRange& range : SpecialRanges) {
        const auto prefix = IpPrefix::parse(range.prefix);
        if (prefix && prefix->contains(*address)) errors.invalid(path, ip, range.problem);
    }
}

}  // namespace porthole::apiserver
