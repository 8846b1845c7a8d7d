#include "apiserver/authorization/authorizer.h"

#include "base/result.h"
#include "base/strings.h"

namespace porthole::apiserver {
namespace {

bool is_under(std::string_view path, std::string_view root) {
    return path.starts_with(root) && (path.size() == root.size() || path[root.size()] == '/');
}

}  // namespace

AuthorizationAttributes authorization_attributes(const User& user, const RequestInfo& info) {
    AuthorizationAttributes attributes;
    attributes.user = user;
    attributes.verb = info.verb;
    attributes.is_resource = info.is_resource;
    attributes.path = info.path;
    if (!info.is_resource) return attributes;
    attributes.group = info.group;
    attributes.version = info.version;
    attributes.resource = info.resource;
    attributes.subresource = info.subresource;
    attributes.namespace_ = info.namespace_;
    attributes.name = info.name;
    if (info.verb != "list" && info.verb != "watch" && info.verb != "deletecollection") return attributes;
    attributes.label_selector = info.parameter("labelSelector");
    attributes.field_selector = info.parameter("fieldSelector");
    return attributes;
}

Task<Decision> PrivilegedGroupAuthorizer::authorize(const AuthorizationAttributes& attributes) {
    if (attributes.user.in_group(GroupMasters)) co_return Decision::allow();
    co_return Decision::no_opinion();
}

Task<Decision> PublicPathAuthorizer::authorize(const AuthorizationAttributes& attributes) {
    if (attributes.is_resource || attributes.verb != "get") co_return Decision::no_opinion();
    for (const std::string_view root : {"/healthz", "/livez", "/readyz"})
        if (is_under(attributes.path, root)) co_return Decision::allow();
    if (!version_and_discovery_) co_return Decision::no_opinion();
    if (is_under(attributes.path, "/version")) co_return Decision::allow();
    if (!attributes.user.in_group(GroupAuthenticated)) co_return Decision::no_opinion();
    for (const std::string_view root : {"/api", "/apis", "/openapi"})
        if (is_under(attributes.path, root)) co_return Decision::allow();
    co_return Decision::no_opinion();
}

Task<Decision> AuthorizerChain::authorize(const AuthorizationAttributes& attributes) {
    std::vector<std::string> reasons, errors;
    const auto authorizers = authorizers_;
    for (const auto& authorizer : *authorizers) {
        auto decided = co_await authorizer->authorize(attributes);
        if (!decided && decided.error().reason == Reason::TooManyRequests) co_return std::move(decided).error();
        if (is_cancelled(decided)) co_return std::move(decided).error();
        Decision decision = decided ? std::move(*decided) : Decision::failed(Decision::Kind::NoOpinion, std::move(decided).error().message);
        if (decision.kind != Decision::Kind::NoOpinion) co_return decision;
        if (!decision.reason.empty()) reasons.push_back(std::move(decision.reason));
        if (!decision.error.empty()) errors.push_back(std::move(decision.error));
    }
    Decision decision = Decision::no_opinion(join(reasons, ", "));
    decision.error = errors.size() > 1 ? "[" + join(errors, ", ") + "]" : join(errors, "");
    co_return decision;
}

Error refusal(const AuthorizationAttributes& attributes, const Decision& decision) {
    if (decision.error.empty()) return forbidden(attributes, decision.reason);
    // Differs from Kubernetes: a Status, where upstream answers with the text alone.
    return Error(Reason::InternalError, "Internal Server Error: " + quote(attributes.path) + ": " + decision.error);
}

Error forbidden(const AuthorizationAttributes& attributes, const std::string& reason) {
    Error error(Reason::Forbidden, "");
    const std::string user = "User " + quote(attributes.user.name) + " cannot ";
    if (!attributes.is_resource) {
        error.message = "forbidden: " + user + attributes.verb + " path " + quote(attributes.path);
    } else {
        const std::string plain = attributes.group.empty() ? attributes.resource : attributes.resource + "." + attributes.group;
        const std::string resource =
            attributes.subresource.empty() ? attributes.resource : attributes.resource + "/" + attributes.subresource;
        error.message = plain + (attributes.name.empty() ? "" : " " + quote(attributes.name)) + " is forbidden: " + user + attributes.verb +
                        " resource " + quote(resource) + " in API group " + quote(attributes.group) +
                        (attributes.namespace_.empty() ? " at the cluster scope" : " in the namespace " + quote(attributes.namespace_));
        error.details->group = attributes.group;
        error.details->kind = attributes.resource;
        error.details->name = attributes.name;
    }
    if (!reason.empty()) error.message += ": " + reason;
    return error;
}

}  // namespace porthole::apiserver
