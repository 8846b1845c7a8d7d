#pragma once
#include <memory>

#include "kubelet/cri/cri.h"

namespace porthole {
class AsioLoop;
}

namespace porthole::kubelet {

/// A runtime that listens on a Unix socket. Connects when first called and again when lost.
class GrpcRuntime {
public:
    virtual ~GrpcRuntime() = default;
    virtual RuntimeService& runtime() = 0;
    virtual ImageService& images() = 0;
    virtual Task<> close() = 0;
};

/// `socket` is a path, or "unix:///path" as in --container-runtime-endpoint.
std::unique_ptr<GrpcRuntime> connect_runtime(AsioLoop& loop, const std::string& socket);

}  // namespace porthole::kubelet
