#pragma once
#include <optional>
#include <string>
#include <vector>

#include "cel/values/value.h"

namespace porthole::cel {

/// What an expression asks the authorizer: about a resource, or about a path.
struct AuthorizationQuestion {
    std::optional<std::string> path;  ///< of a request that is not for a resource
    std::string verb;
    std::string group, resource, subresource, namespace_name, name;
    std::string field_selector, label_selector;  ///< texts as the expression gave them; "" for none
    /// The service account to ask for instead of the request's user; "" for the request's.
    std::string service_account_namespace, service_account_name;
};

/// What the authorizer says of a question.
struct AuthorizationAnswer {
    bool allowed = false;
    std::string reason;
    std::string error;  ///< "" for none
};

/// Decides for `authorizer.…check(verb)`. The caller supplies it; it must outlive the values made with it.
class AuthorizationSource {
public:
    virtual ~AuthorizationSource() = default;
    virtual AuthorizationAnswer authorize(const AuthorizationQuestion& question) const = 0;
};

/// The type of the variable `authorizer`, and of `authorizer.requestResource`.
TypeRef authorizer_type();
TypeRef resource_check_type();

Value make_authorizer(const AuthorizationSource& source);
/// `authorizer.requestResource`: a check whose resource is the request's.
Value make_resource_check(const AuthorizationSource& source, AuthorizationQuestion question);

}  // namespace porthole::cel
