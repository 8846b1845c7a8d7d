#include "kubelet/server/access.h"

#include <algorithm>

#include "api/authentication_v1.h"
#include "api/authorization_v1.h"

namespace porthole::kubelet {
namespace {

using namespace std::chrono_literals;
using api::authentication::v1::TokenReview;
using api::authorization::v1::SubjectAccessReview;

constexpr Duration UserLife = 2min, AllowedLife = 5min, DeniedLife = 30s;
constexpr std::size_t CacheLimit = 1000;

}  // namespace

NodeAttributes node_attributes(const std::string& method, const std::string& path) {
    static const std::map<std::string, std::string> Verbs = {
        {"POST", "create"}, {"GET", "get"}, {"PUT", "update"}, {"PATCH", "patch"}, {"DELETE", "delete"}};
    static const std::pair<const char*, const char*> Prefixes[] = {
        {"/stats", "stats"},   {"/metrics", "metrics"}, {"/logs", "log"},         {"/checkpoint", "checkpoint"}, {"/statusz", "statusz"},
        {"/flagz", "configz"}, {"/pods", "pods"},       {"/runningpods", "pods"}, {"/healthz", "healthz"},       {"/configz", "configz"}};
    NodeAttributes attributes;
    const auto verb = Verbs.find(method);
    attributes.verb = verb == Verbs.end() ? "get" : verb->second;
    attributes.subresource = "proxy";
    for (const auto& [prefix, subresource] : Prefixes)
        if (path == prefix || path.starts_with(std::string(prefix) + "/")) attributes.subresource = subresource;
    return attributes;
}

Task<> AccessControl::check(const net::HttpRequest& request) {
    CO_TRY(User user, co_await authenticate(request));
    for (const std::string& group : user.groups)
        if (policy_.trusted_groups.contains(group) && request.peer.certificate) co_return {};
    const NodeAttributes needed = node_attributes(request.method, request.path);
    const std::string name = user.name;
    bool allowed = false;
    if (policy_.ask_the_api) {
        CO_TRY(allowed, co_await is_allowed(user, needed.verb, needed.subresource));
        if (!allowed && needed.subresource != "proxy") {
            const bool coarse = needed.subresource == "pods" || needed.subresource == "healthz" || needed.subresource == "configz";
            if (coarse) {
                CO_TRY(allowed, co_await is_allowed(std::move(user), needed.verb, "proxy"));
            }
        }
    }
    if (allowed) co_return {};
    co_return Error(Reason::Forbidden,
                    "Forbidden (user=" + name + ", verb=" + needed.verb + ", resource=nodes, subresource(s)=[" + needed.subresource + "])");
}

Task<AccessControl::User> AccessControl::authenticate(const net::HttpRequest& request) {
    if (request.peer.certificate) {
        User user;
        user.name = request.peer.certificate->common_name;
        user.groups = request.peer.certificate->organizations;
        user.groups.push_back("system:authenticated");
        co_return user;
    }
    constexpr std::string_view Scheme = "Bearer ";
    const std::string_view header = request.headers.get("authorization");
    if (!policy_.ask_the_api || !header.starts_with(Scheme)) co_return Error(Reason::Unauthorized, "Unauthorized");
    const std::string token(header.substr(Scheme.size()));
    if (const auto known = users_.find(token); known != users_.end() && loop_.now() < known->second.second) co_return known->second.first;

    TokenReview review;
    review.spec.token = token;
    CO_TRY(const TokenReview answer, co_await client_.create(std::move(review)));
    if (!answer.status.authenticated) co_return Error(Reason::Unauthorized, "Unauthorized");
    User user;
    user.name = answer.status.user.username;
    user.uid = answer.status.user.uid;
    user.groups = answer.status.user.groups;
    if (users_.size() >= CacheLimit) users_.clear();
    users_[token] = {user, loop_.now() + UserLife};
    co_return user;
}

Task<bool> AccessControl::is_allowed(User user, std::string verb, std::string subresource) {
    std::string key = user.name + "\n" + verb + "\n" + subresource;
    for (const std::string& group : user.groups) key += "\n" + group;
    if (const auto known = verdicts_.find(key); known != verdicts_.end() && loop_.now() < known->second.until)
        co_return bool(known->second.allowed);
    SubjectAccessReview review;
    review.spec.user = user.name;
    review.spec.uid = user.uid;
    review.spec.groups = user.groups;
    auto& attributes = review.spec.resource_attributes.emplace();
    attributes.verb = verb;
    attributes.resource = "nodes";
    attributes.subresource = subresource;
    attributes.name = node_name_;
    attributes.version = "v1";
    CO_TRY(const SubjectAccessReview answer, co_await client_.create(std::move(review)));
    if (verdicts_.size() >= CacheLimit) verdicts_.clear();
    const bool allowed = answer.status.allowed;
    verdicts_[key] = {allowed, loop_.now() + (allowed ? AllowedLife : DeniedLife)};
    co_return bool(allowed);
}

}  // namespace porthole::kubelet
