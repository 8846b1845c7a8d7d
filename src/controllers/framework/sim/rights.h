#pragma once
#include <functional>
#include <string>

#include "base/result.h"
#include "client/transport.h"

namespace porthole::controllers {

/// Whether an account of the control plane may make a request; "" is the controller manager itself. Error: Forbidden with the server's
/// message.
using Rights = std::function<Result<void>(const std::string& account, const client::ApiRequest& request)>;

/// The rights in a new cluster. Defined in tests/rights, because components and API server do not include each other.
Rights bootstrap_rights();

}  // namespace porthole::controllers
