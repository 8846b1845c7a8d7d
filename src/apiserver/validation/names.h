#pragma once
#include <string>
#include <string_view>
#include <vector>

/// The formats of names and values in the API. Each check returns the problems, with Kubernetes' messages; empty if valid.
namespace porthole::apiserver::names {

using Problems = std::vector<std::string>;

Problems check_dns1123_label(std::string_view text);
Problems check_dns1123_subdomain(std::string_view text);
/// A subdomain whose labels may contain and start with "_".
Problems check_dns1123_subdomain_with_underscore(std::string_view text);
Problems check_dns1035_label(std::string_view text);
Problems check_wildcard_dns1123_subdomain(std::string_view text);
/// Names that need only be usable in a URL path.
Problems check_path_segment(std::string_view text);
/// "name" or "example.com/name": label keys, annotation keys, finalizers.
Problems check_qualified_name(std::string_view text);
Problems check_label_value(std::string_view text);
Problems check_port_name(std::string_view text);
Problems check_port_number(std::int64_t number);
Problems check_config_key(std::string_view text);
/// The relaxed form: printable ASCII but "=".
Problems check_environment_name(std::string_view text);
Problems check_http_header_name(std::string_view text);
Problems check_percent(std::string_view text);
Problems check_in_range(std::int64_t value, std::int64_t low, std::int64_t high);
/// Any textual IPv4 or IPv6 address.
Problems check_ip(std::string_view text);
Problems check_cidr(std::string_view text);
Problems check_domain_prefixed_path(std::string_view text);

inline bool is_dns1123_subdomain(std::string_view text) { return check_dns1123_subdomain(text).empty(); }
/// "longer than N" with the message of label parts and names.
std::string too_long(std::size_t limit);

enum class NameRule { Subdomain, Dns1123Label, Dns1035Label, PathSegment };
/// `prefix`: the text is a generateName, to which characters will be added.
Problems check_name(NameRule rule, std::string_view text, bool prefix);

}  // namespace porthole::apiserver::names
