#include "apiserver/authentication/request_header.h"

#include <algorithm>

#include "base/strings.h"

namespace porthole::apiserver {
namespace {

void lower_all(std::vector<std::string>& names) {
    for (std::string& name : names) name = to_lower(name);
}

std::string first_of(const net::Headers& headers, const std::vector<std::string>& names) {
    for (const std::string& name : names)
        if (const auto value = trim(headers.get(name)); !value.empty()) return std::string(value);
    return "";
}

}  // namespace

RequestHeaderAuthenticator::RequestHeaderAuthenticator(RequestHeaderOptions options) : options_(std::move(options)) {
    for (auto* names : {&options_.username_headers, &options_.uid_headers, &options_.group_headers, &options_.extra_prefixes})
        lower_all(*names);
}

Task<std::optional<User>> RequestHeaderAuthenticator::authenticate(const net::HttpRequest& request) {
    const auto& certificate = request.peer.certificate;
    if (!certificate || !certificate->of_proxy) co_return std::optional<User>();
    const auto& allowed = options_.allowed_names;
    if (!allowed.empty() && std::ranges::find(allowed, certificate->common_name) == allowed.end())
        co_return Error(Reason::Unauthorized, "the proxy's name is not allowed");
    User user{.name = first_of(request.headers, options_.username_headers),
              .uid = first_of(request.headers, options_.uid_headers),
              .groups = {},
              .extra = {}};
    if (user.name.empty()) co_return std::optional<User>();
    for (const std::string& name : options_.group_headers)
        for (const std::string_view value : request.headers.all(name))
            if (const auto group = trim(value); !group.empty()) user.groups.emplace_back(group);
    for (const auto& [name, value] : request.headers.fields()) {
        for (const std::string& prefix : options_.extra_prefixes) {
            if (!name.starts_with(prefix)) continue;
            user.extra[to_lower(net::percent_decode(std::string_view(name).substr(prefix.size())))].push_back(value);
            break;
        }
    }
    co_return std::optional(std::move(user));
}

}  // namespace porthole::apiserver
