#include "winhost/images/registry/url.h"

#include <charconv>

namespace porthole::winhost {
namespace {

std::uint16_t default_port(const std::string& scheme) { return scheme == "https" ? 443 : 80; }

Error invalid_url(const std::string& text) { return Error(Reason::BadRequest, "\"" + text + "\" is not a valid http or https URL"); }

std::string bracketed(const std::string& host) { return host.contains(':') ? "[" + host + "]" : host; }

}  // namespace

Result<Url> Url::parse(const std::string& text) {
    Url url;
    const std::size_t scheme_end = text.find("://");
    url.scheme = text.substr(0, scheme_end);
    if (scheme_end == std::string::npos || (url.scheme != "http" && url.scheme != "https")) return invalid_url(text);
    std::string rest = text.substr(scheme_end + 3);
    rest.resize(std::min(rest.find('#'), rest.size()));
    const std::size_t host_end = std::min(rest.find_first_of("/?"), rest.size());
    std::string authority = rest.substr(0, host_end);
    rest.erase(0, host_end);
    const std::size_t colon = authority.rfind(':');
    url.port = default_port(url.scheme);
    if (colon != std::string::npos && authority.find(']', colon) == std::string::npos) {
        const char* const end = authority.data() + authority.size();
        const auto [at, error] = std::from_chars(authority.data() + colon + 1, end, url.port);
        if (error != std::errc() || at != end) return invalid_url(text);
        authority.resize(colon);
    }
    if (authority.starts_with('[') && authority.ends_with(']')) authority = authority.substr(1, authority.size() - 2);
    if (authority.empty() || authority.find_first_of(" @\r\n[]") != std::string::npos) return invalid_url(text);
    url.host = authority;
    const std::size_t question = rest.find('?');
    if (question != std::string::npos) url.query = rest.substr(question + 1);
    rest.resize(std::min(question, rest.size()));
    if (!rest.empty()) url.path = rest;
    return url;
}

std::string Url::origin() const { return scheme + "://" + bracketed(host) + ":" + std::to_string(port); }

std::string Url::authority() const { return bracketed(host) + (port == default_port(scheme) ? "" : ":" + std::to_string(port)); }

Result<Url> Url::resolve(const std::string& location) const {
    if (location.starts_with("//")) return parse(scheme + ":" + location);
    if (location.starts_with('/')) return parse(origin() + location);
    return parse(location);
}

}  // namespace porthole::winhost
