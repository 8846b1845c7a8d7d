#pragma once
#include "node_join/pki.h"

namespace porthole::node_join {

/// `current`, which accepts what the authorities and the key of `next` have signed as well, and signs as before. Safe to repeat.
Pki accept_both(Pki current, const Pki& next);

}  // namespace porthole::node_join
