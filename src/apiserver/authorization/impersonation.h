#pragma once
#include "apiserver/authorization/authorizer.h"
#include "apiserver/request/user.h"
#include "net/http/http.h"

namespace porthole::apiserver {

/// Who a request acts as: the user itself, or the one that its Impersonate- headers name, if `user` may impersonate each part of it.
/// Errors: Forbidden; BadRequest for groups, a uid or extra values without a user.
Task<User> impersonated(Authorizer& authorizer, const net::HttpRequest& request, User user);

}  // namespace porthole::apiserver
