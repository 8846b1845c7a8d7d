#pragma once
#include "apiserver/authorization/authorizer.h"
#include "apiserver/request/user.h"
#include "net/http/http.h"

namespace porthole::apiserver {

/// The user that a request acts as: `user`, or the one in its Impersonate- headers, if `user` may impersonate each part of that identity.
/// Errors: Forbidden; BadRequest for groups, a uid or extra values without a user.
Task<User> impersonated(Authorizer& authorizer, const net::HttpRequest& request, User user);

}  // namespace porthole::apiserver
