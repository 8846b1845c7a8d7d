#include "apiserver/authorization/expression_authorizer.h"

#include "base/strings.h"

namespace porthole::apiserver {
namespace {

std::string key_of(const cel::AuthorizationQuestion& question) {
    // Quoted, so that no two questions have one key.
    return join(
        std::initializer_list<std::string>{question.path.value_or("-"), question.verb, question.group, question.resource,
                                           question.subresource, question.namespace_name, question.name, question.field_selector,
                                           question.label_selector, question.service_account_namespace, question.service_account_name},
        " ", [](const std::string& part) { return quote(part); });
}

/// As upstream asks about a service account: not as one whose token was seen.
User asked_account(const cel::AuthorizationQuestion& question) {
    User user = service_account_user(question.service_account_namespace, question.service_account_name);
    std::erase(user.groups, GroupAuthenticated);
    return user;
}

}  // namespace

cel::AuthorizationAnswer ExpressionAuthorizer::authorize(const cel::AuthorizationQuestion& question) const {
    std::string key = key_of(question);
    if (const auto known = decided_.find(key); known != decided_.end()) return known->second;
    open_.emplace(std::move(key), question);
    return {};
}

AuthorizationAttributes ExpressionAuthorizer::attributes_of(const cel::AuthorizationQuestion& question) const {
    AuthorizationAttributes attributes{.user = question.service_account_name.empty() ? user_ : asked_account(question),
                                       .verb = question.verb};
    if (question.path) {
        attributes.path = *question.path;
        return attributes;
    }
    attributes.is_resource = true;
    attributes.group = question.group;
    attributes.version = "*";
    attributes.resource = question.resource;
    attributes.subresource = question.subresource;
    attributes.namespace_ = question.namespace_name;
    attributes.name = question.name;
    attributes.field_selector = question.field_selector;
    attributes.label_selector = question.label_selector;
    return attributes;
}

Task<> ExpressionAuthorizer::decide() {
    const auto open = std::exchange(open_, {});
    for (const auto& [key, question] : open) {
        const AuthorizationAttributes attributes = attributes_of(question);
        auto decision = co_await authorizer_.authorize(attributes);
        if (is_cancelled(decision)) co_return std::move(decision).error();
        cel::AuthorizationAnswer answer;
        if (decision)
            answer = {.allowed = decision->allowed(), .reason = decision->reason, .error = decision->error};
        else
            answer.error = decision.error().message;
        decided_.emplace(key, std::move(answer));
    }
    co_return {};
}

}  // namespace porthole::apiserver
