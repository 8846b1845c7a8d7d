#pragma once
#include "node_join/pki.h"

namespace porthole::node_join {

/// `current`, changed to also accept what the authorities and the key of `next` have signed, and signing as before. Safe to repeat.
Pki accept_both(Pki current, const Pki& next);

}  // namespace porthole::node_join
