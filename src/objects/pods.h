#pragma once
#include "api/core_v1.h"
#include "runtime/event_loop.h"

namespace porthole::objects {

/// Condition Ready is True.
bool is_ready(const api::core::v1::Pod& pod);
/// Ready for at least `min_ready` by now.
bool is_available(const api::core::v1::Pod& pod, std::chrono::seconds min_ready, SystemTime now);
/// Succeeded or Failed: it will not run again.
bool is_terminal(const api::core::v1::Pod& pod);
inline bool is_terminating(const api::core::v1::Pod& pod) { return pod.metadata.deletion_timestamp.has_value(); }
/// Neither terminal nor being deleted.
bool is_active(const api::core::v1::Pod& pod);

}  // namespace porthole::objects
