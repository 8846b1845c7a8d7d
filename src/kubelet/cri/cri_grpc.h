#pragma once
#include <memory>

#include "kubelet/cri/cri.h"

namespace porthole {
class AsioLoop;
}

namespace porthole::kubelet {

/// A runtime that listens on a Unix socket or a named pipe. Connects on first use, and again if the connection is lost. Owns the
/// connections; used on `loop`, which must outlive it. close() it, after its users have ended, before destroying it.
class GrpcRuntime {
public:
    virtual ~GrpcRuntime() = default;
    virtual RuntimeService& runtime() = 0;
    virtual ImageService& images() = 0;
    virtual Task<> close() = 0;
};

/// Where --container-runtime-endpoint leads: "unix:///run/x.sock" → /run/x.sock, "npipe:////./pipe/x" → \\.\pipe\x, a path → itself.
std::string runtime_path(std::string_view endpoint);

std::unique_ptr<GrpcRuntime> connect_runtime(AsioLoop& loop, const std::string& endpoint);

}  // namespace porthole::kubelet
