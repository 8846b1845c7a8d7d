#include "apiserver/validation/names.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>

namespace porthole::apiserver::names {
namespace {

constexpr std::size_t LabelLimit = 63;
constexpr std::size_t SubdomainLimit = 253;

constexpr std::string_view Dns1123LabelText =
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an "
    "alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
constexpr std::string_view Dns1123SubdomainText =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with "
    "an alphanumeric character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
constexpr std::string_view Dns1123UnderscoreText =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must start and end "
    "with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    "'_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*')";
constexpr std::string_view Dns1035LabelText =
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end "
    "with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
    "'[a-z]([-a-z0-9]*[a-z0-9])?')";
constexpr std::string_view WildcardText =
    "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case "
    "alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. '*.example.com', regex used for "
    "validation is '\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
constexpr std::string_view QualifiedNameText =
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. "
    "'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
constexpr std::string_view LabelValueText =
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with "
    "an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
constexpr std::string_view ConfigKeyText =
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or "
    "'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";
constexpr std::string_view HeaderText =
    "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for validation is "
    "'[-A-Za-z0-9]+')";
constexpr std::string_view PercentText =
    "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation "
    "is '[0-9]+%')";

bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_lower_alnum(char c) { return is_lower(c) || is_digit(c); }
bool is_alnum(char c) { return is_lower_alnum(c) || is_upper(c); }

template <class Inner>
bool made_of(std::string_view text, Inner inner) {
    return std::ranges::all_of(text, inner);
}

bool is_label(std::string_view text) {
    return !text.empty() && is_lower_alnum(text.front()) && is_lower_alnum(text.back()) &&
           made_of(text, [](char c) { return is_lower_alnum(c) || c == '-'; });
}
bool is_underscore_label(std::string_view text) {
    if (text.starts_with('_')) text.remove_prefix(1);
    return !text.empty() && is_lower_alnum(text.front()) && is_lower_alnum(text.back()) &&
           made_of(text, [](char c) { return is_lower_alnum(c) || c == '-' || c == '_'; });
}
template <class IsPart>
bool is_dotted(std::string_view text, IsPart is_part) {
    while (true) {
        const std::size_t dot = text.find('.');
        if (!is_part(text.substr(0, dot))) return false;
        if (dot == std::string_view::npos) return true;
        text.remove_prefix(dot + 1);
    }
}
bool is_name_part(std::string_view text) {
    return !text.empty() && is_alnum(text.front()) && is_alnum(text.back()) &&
           made_of(text, [](char c) { return is_alnum(c) || c == '-' || c == '_' || c == '.'; });
}

std::string too_long_bytes(std::size_t limit) { return "must be no more than " + std::to_string(limit) + " bytes"; }

}  // namespace

std::string too_long(std::size_t limit) { return "must be no more than " + std::to_string(limit) + " characters"; }

Problems check_dns1123_label(std::string_view text) {
    Problems problems;
    if (text.size() > LabelLimit) problems.push_back(too_long(LabelLimit));
    if (!is_label(text)) {
        if (is_dotted(text, is_label))
            problems.emplace_back("must not contain dots");
        else
            problems.emplace_back(Dns1123LabelText);
    }
    return problems;
}

Problems check_dns1123_subdomain(std::string_view text) {
    Problems problems;
    if (text.size() > SubdomainLimit) problems.push_back(too_long(SubdomainLimit));
    if (!is_dotted(text, is_label)) problems.emplace_back(Dns1123SubdomainText);
    return problems;
}

Problems check_dns1123_subdomain_with_underscore(std::string_view text) {
    Problems problems;
    if (text.size() > SubdomainLimit) problems.push_back(too_long(SubdomainLimit));
    if (!is_dotted(text, is_underscore_label)) problems.emplace_back(Dns1123UnderscoreText);
    return problems;
}

Problems check_dns1035_label(std::string_view text) {
    Problems problems;
    if (text.size() > LabelLimit) problems.push_back(too_long(LabelLimit));
    if (!is_label(text) || !is_lower(text.front())) problems.emplace_back(Dns1035LabelText);
    return problems;
}

Problems check_wildcard_dns1123_subdomain(std::string_view text) {
    Problems problems;
    if (text.size() > SubdomainLimit) problems.push_back(too_long(SubdomainLimit));
    if (!text.starts_with("*.") || !is_dotted(text.substr(2), is_label)) problems.emplace_back(WildcardText);
    return problems;
}

Problems check_path_segment(std::string_view text) {
    if (text == ".") return {"may not be '.'"};
    if (text == "..") return {"may not be '..'"};
    Problems problems;
    if (text.contains('/')) problems.emplace_back("may not contain '/'");
    if (text.contains('%')) problems.emplace_back("may not contain '%'");
    return problems;
}

Problems check_qualified_name(std::string_view text) {
    Problems problems;
    std::string_view name = text;
    if (const std::size_t slash = text.find('/'); slash != std::string_view::npos) {
        const std::string_view prefix = text.substr(0, slash);
        name = text.substr(slash + 1);
        if (name.contains('/')) {
            return {"a qualified name " + std::string(QualifiedNameText) +
                    " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"};
        }
        if (prefix.empty()) {
            problems.emplace_back("prefix part must be non-empty");
        } else {
            for (const std::string& problem : check_dns1123_subdomain(prefix)) problems.push_back("prefix part " + problem);
        }
    }
    if (name.empty()) {
        problems.emplace_back("name part must be non-empty");
    } else if (name.size() > LabelLimit) {
        problems.push_back("name part " + too_long_bytes(LabelLimit));
    }
    if (!is_name_part(name)) problems.push_back("name part " + std::string(QualifiedNameText));
    return problems;
}

Problems check_label_value(std::string_view text) {
    Problems problems;
    if (text.size() > LabelLimit) problems.push_back(too_long_bytes(LabelLimit));
    if (!text.empty() && !is_name_part(text)) problems.emplace_back(LabelValueText);
    return problems;
}

Problems check_port_name(std::string_view text) {
    Problems problems;
    if (text.size() > 15) problems.push_back(too_long(15));
    if (text.empty() || !made_of(text, [](char c) { return is_lower_alnum(c) || c == '-'; }))
        problems.emplace_back("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)");
    if (std::ranges::none_of(text, is_lower)) problems.emplace_back("must contain at least one letter (a-z)");
    if (text.contains("--")) problems.emplace_back("must not contain consecutive hyphens");
    if (!text.empty() && (text.front() == '-' || text.back() == '-')) problems.emplace_back("must not begin or end with a hyphen");
    return problems;
}

Problems check_port_number(std::int64_t number) { return check_in_range(number, 1, 65535); }

Problems check_config_key(std::string_view text) {
    Problems problems;
    if (text.size() > SubdomainLimit) problems.push_back(too_long(SubdomainLimit));
    if (text.empty() || !made_of(text, [](char c) { return is_alnum(c) || c == '-' || c == '_' || c == '.'; }))
        problems.emplace_back(ConfigKeyText);
    if (text == ".") problems.emplace_back("must not be '.'");
    if (text == "..")
        problems.emplace_back("must not be '..'");
    else if (text.starts_with(".."))
        problems.emplace_back("must not start with '..'");
    return problems;
}

Problems check_environment_name(std::string_view text) {
    if (!text.empty() && made_of(text, [](char c) { return c >= ' ' && c <= '~' && c != '='; })) return {};
    return {"a valid environment variable name must consist only of printable ASCII characters other than '='"};
}

Problems check_http_header_name(std::string_view text) {
    if (!text.empty() && made_of(text, [](char c) { return is_alnum(c) || c == '-'; })) return {};
    return {std::string(HeaderText)};
}

Problems check_percent(std::string_view text) {
    if (text.size() > 1 && text.back() == '%' && made_of(text.substr(0, text.size() - 1), is_digit)) return {};
    return {std::string(PercentText)};
}

Problems check_in_range(std::int64_t value, std::int64_t low, std::int64_t high) {
    if (value >= low && value <= high) return {};
    return {"must be between " + std::to_string(low) + " and " + std::to_string(high) + ", inclusive"};
}

Problems check_ip(std::string_view text) {
    unsigned char address[sizeof(in6_addr)];
    const std::string terminated(text);
    if (inet_pton(AF_INET, terminated.c_str(), address) == 1 || inet_pton(AF_INET6, terminated.c_str(), address) == 1) return {};
    return {"must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"};
}

Problems check_cidr(std::string_view text) {
    const Problems bad{"must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"};
    const std::size_t slash = text.find('/');
    if (slash == std::string_view::npos || !check_ip(text.substr(0, slash)).empty()) return bad;
    const std::string_view length = text.substr(slash + 1);
    unsigned bits = 0;
    const auto [end, error] = std::from_chars(length.data(), length.data() + length.size(), bits);
    const unsigned limit = text.substr(0, slash).contains(':') ? 128 : 32;
    if (error != std::errc() || end != length.data() + length.size() || bits > limit) return bad;
    return {};
}

Problems check_domain_prefixed_path(std::string_view text) {
    const std::size_t slash = text.find('/');
    if (slash == std::string_view::npos || slash == 0 || slash + 1 == text.size())
        return {"must be a domain-prefixed path (such as \"acme.io/foo\")"};
    Problems problems;
    for (const std::string& problem : check_dns1123_subdomain(text.substr(0, slash))) problems.push_back("prefix part " + problem);
    constexpr std::string_view Allowed = "-._~!$&'()*+,;=:@/%";
    if (!made_of(text.substr(slash + 1), [&](char c) { return is_alnum(c) || Allowed.contains(c); }))
        problems.emplace_back("must contain only path characters after the domain");
    return problems;
}

Problems check_name(NameRule rule, std::string_view text, bool prefix) {
    // A prefix may end in "-": the two last characters stand for what follows them.
    std::string masked;
    if (prefix && text.size() > 1 && text.back() == '-') {
        masked = std::string(text.substr(0, text.size() - 2)) + "a";
        text = masked;
    }
    switch (rule) {
        case NameRule::Subdomain:
            return check_dns1123_subdomain(text);
        case NameRule::Dns1123Label:
            return check_dns1123_label(text);
        case NameRule::Dns1035Label:
            return check_dns1035_label(text);
        case NameRule::PathSegment:
            return check_path_segment(text);
    }
    return {};
}

}  // namespace porthole::apiserver::names
