#pragma once
#include "client/client.h"

namespace porthole::apiserver {

/// Creates missing bootstrap roles and bindings, and adds missing rules or subjects. Additions of an administrator stay; an object whose
/// autoupdate annotation is "false" is not changed.
Task<> reconcile_bootstrap_policy(client::Client& client);

}  // namespace porthole::apiserver
