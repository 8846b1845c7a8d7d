#pragma once
#include <optional>
#include <string>
#include <vector>

#include "cel/values/value.h"

namespace porthole::cel {

/// A question of an expression to the authorizer: about a resource, or about a path.
struct AuthorizationQuestion {
    std::optional<std::string> path;  ///< of a request that is not for a resource
    std::string verb;
    std::string group, resource, subresource, namespace_name, name;
    std::string field_selector, label_selector;  ///< texts as the expression gave them; "" for none
    /// The service account instead of the request's user; "" for the request's user.
    std::string service_account_namespace, service_account_name;
};

/// The authorizer's decision.
struct AuthorizationAnswer {
    bool allowed = false;
    std::string reason;
    std::string error;  ///< "" for none
};

/// Decides for `authorizer.…check(verb)`. Supplied by the caller; it must outlive the values created with it.
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
