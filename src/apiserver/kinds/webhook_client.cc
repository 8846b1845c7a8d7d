#include "apiserver/kinds/webhook_client.h"

#include <algorithm>

namespace porthole::apiserver {

void validate_webhook_url(const std::string& url, const FieldPath& path, FieldErrors& errors) {
    constexpr std::string_view Scheme = "https://";
    if (!url.starts_with(Scheme))
        return errors.invalid(path, url, "'https' is the only allowed URL scheme; desired format: https://host[/path]");
    const std::string_view rest = std::string_view(url).substr(Scheme.size());
    const std::string_view host = rest.substr(0, rest.find_first_of("/?#"));
    check(!host.empty() && host != "@", url, "host must be specified; desired format: https://host[/path]", path, errors);
    check(!host.contains('@'), url, "user information is not permitted in the URL", path, errors);
    check(!rest.contains('#'), url, "fragments are not permitted in the URL", path, errors);
    check(!rest.contains('?'), url, "query parameters are not permitted in the URL", path, errors);
}

void validate_webhook_path(const std::string& text, const FieldPath& path, FieldErrors& errors) {
    if (text.empty() || text == "/") return;
    if (!text.starts_with('/')) return errors.invalid(path, text, "must start with a '/'");
    std::string_view rest = std::string_view(text).substr(1);
    if (rest.ends_with('/')) rest.remove_suffix(1);
    for (std::size_t i = 0;; ++i) {
        const std::string segment(rest.substr(0, rest.find('/')));
        if (segment.empty()) return errors.invalid(path, text, "segment[" + std::to_string(i) + "] may not be empty");
        for (const std::string& problem : names::check_dns1123_subdomain(segment))
            errors.invalid(path, text, "segment[" + std::to_string(i) + "]: " + problem);
        if (!rest.contains('/')) return;
        rest.remove_prefix(segment.size() + 1);
    }
}

}  // namespace porthole::apiserver
