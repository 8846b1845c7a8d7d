#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "api/core_v1.h"
#include "runtime/task.h"

namespace porthole::kubelet {

namespace core = api::core::v1;

/// A token for the pod's service account, bound to the pod.
struct ServiceAccountToken {
    std::string token;
    SystemTime expires;
};

/// The source of tokens. `seconds` is the requested lifetime; audience "" is the API server's.
class TokenSource {
public:
    virtual ~TokenSource() = default;
    virtual Task<ServiceAccountToken> token(std::shared_ptr<const core::Pod> pod, std::string audience, std::int64_t seconds) = 0;
    virtual void forget_pod(const std::string& uid) = 0;
};

}  // namespace porthole::kubelet
