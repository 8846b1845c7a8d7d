#pragma once
#include <string>

namespace porthole::kubelet {

/// Why a pod that was bound to this node cannot run here: it then fails with this.
struct Rejection {
    std::string reason;  ///< "OutOfcpu", "NodeAffinity", …
    std::string message;
    bool operator==(const Rejection&) const = default;
};

}  // namespace porthole::kubelet
