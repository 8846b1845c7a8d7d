#include "apiserver/authorization/impersonation.h"

namespace porthole::apiserver {
namespace {

constexpr std::string_view ServiceAccountPrefix = "system:serviceaccount:";
constexpr std::string_view ExtraPrefix = "impersonate-extra-";

AuthorizationAttributes wish(const User& user, std::string group, std::string resource, std::string name) {
    AuthorizationAttributes attributes;
    attributes.user = user;
    attributes.verb = "impersonate";
    attributes.is_resource = true;
    attributes.group = std::move(group);
    attributes.version = "v1";
    attributes.resource = std::move(resource);
    attributes.name = std::move(name);
    return attributes;
}

/// "system:serviceaccount:NS:NAME" is a service account, anything else a user.
AuthorizationAttributes user_wish(const User& user, const std::string& name) {
    if (name.starts_with(ServiceAccountPrefix)) {
        const std::string rest = name.substr(ServiceAccountPrefix.size());
        if (const std::size_t colon = rest.find(':'); colon != std::string::npos) {
            AuthorizationAttributes attributes = wish(user, "", "serviceaccounts", rest.substr(colon + 1));
            attributes.namespace_ = rest.substr(0, colon);
            return attributes;
        }
    }
    return wish(user, "", "users", name);
}

/// The groups that a name brings with it when none were asked for.
std::vector<std::string> groups_of(const std::string& name) {
    if (name == AnonymousUser) return {std::string(GroupUnauthenticated)};
    std::vector<std::string> groups;
    if (name.starts_with(ServiceAccountPrefix)) {
        const std::string rest = name.substr(ServiceAccountPrefix.size());
        groups = {"system:serviceaccounts", "system:serviceaccounts:" + rest.substr(0, rest.find(':'))};
    }
    return groups;
}

}  // namespace

Task<User> impersonated(Authorizer& authorizer, const net::HttpRequest& request, User user) {
    User wanted;
    wanted.name = request.headers.get("impersonate-user");
    wanted.uid = request.headers.get("impersonate-uid");
    for (const std::string_view group : request.headers.all("impersonate-group")) wanted.groups.emplace_back(group);
    for (const auto& [name, value] : request.headers.fields())
        if (name.starts_with(ExtraPrefix))
            wanted.extra[net::percent_decode(std::string_view(name).substr(ExtraPrefix.size()))].push_back(value);
    if (wanted.name.empty()) {
        if (wanted.groups.empty() && wanted.uid.empty() && wanted.extra.empty()) co_return user;
        co_return Error(Reason::BadRequest, "requested impersonation of groups, a uid or extra values without impersonating a user");
    }

    std::vector<AuthorizationAttributes> wishes{user_wish(user, wanted.name)};
    for (const std::string& group : wanted.groups) wishes.push_back(wish(user, "", "groups", group));
    if (!wanted.uid.empty()) wishes.push_back(wish(user, "authentication.k8s.io", "uids", wanted.uid));
    for (const auto& [key, values] : wanted.extra) {
        for (const std::string& value : values) {
            wishes.push_back(wish(user, "authentication.k8s.io", "userextras", value));
            wishes.back().subresource = key;
        }
    }
    for (const AuthorizationAttributes& attributes : wishes) {
        CO_TRY(const Decision decision, co_await authorizer.authorize(attributes));
        if (!decision.allowed()) co_return forbidden(attributes, decision.reason);
    }
    if (wanted.groups.empty()) wanted.groups = groups_of(wanted.name);
    if (wanted.name != AnonymousUser && !wanted.in_group(GroupAuthenticated)) wanted.groups.emplace_back(GroupAuthenticated);
    co_return wanted;
}

}  // namespace porthole::apiserver
