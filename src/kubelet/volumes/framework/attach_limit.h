#pragma once
#include "base/result.h"

namespace porthole::kubelet {

/// Of VolumePlugin::set_up(): the driver of a volume says that the node has as many volumes as it can have. As upstream, the pod fails for
/// it, so that its owner makes one that the scheduler can place elsewhere.
inline Error attach_limit_exceeded(std::string message) { return Error(Reason::NotAcceptable, std::move(message)); }
inline bool is_attach_limit_exceeded(const Error& error) { return error.reason == Reason::NotAcceptable; }

}  // namespace porthole::kubelet
