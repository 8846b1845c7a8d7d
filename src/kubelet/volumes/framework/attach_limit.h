#pragma once
#include "base/result.h"

namespace porthole::kubelet {

/// Error of VolumePlugin::set_up(): the driver of a volume reports that the node has its maximum number of volumes. As upstream, the pod
/// fails, so that its owner creates one that the scheduler can place elsewhere.
inline Error attach_limit_exceeded(std::string message) { return Error(Reason::NotAcceptable, std::move(message)); }
inline bool is_attach_limit_exceeded(const Error& error) { return error.reason == Reason::NotAcceptable; }

}  // namespace porthole::kubelet
