#pragma once
#include "client/client.h"

namespace porthole::apiserver {

/// Creates the bootstrap roles and bindings that are missing and completes those that lack rules or subjects. What an
/// administrator added stays; an object whose autoupdate annotation is "false" is left alone.
Task<> reconcile_bootstrap_policy(client::Client& client);

}  // namespace porthole::apiserver
