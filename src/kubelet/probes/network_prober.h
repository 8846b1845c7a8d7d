#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/task.h"

namespace porthole {
class AsioLoop;
}

namespace porthole::kubelet {

/// How one probe or hook ended.
struct ProbeOutcome {
    bool success = false;
    bool warning = false;  ///< of a success: worth an event
    std::string output;    ///< text for people
};

/// The target of an HTTP probe or hook.
struct HttpTarget {
    bool https = false;  ///< the certificate is not verified
    std::string host;
    std::uint16_t port = 0;
    std::string path;  ///< with query
    std::vector<std::pair<std::string, std::string>> headers;
    std::string url() const;
};

/// The seam for probes and hooks that go over the network. A target that cannot be reached is a failed outcome, not an error; the only
/// error is Cancelled.
class NetworkProber {
public:
    virtual ~NetworkProber() = default;
    /// GET; 200 to 399 is success. Redirects to the same host are followed, others count as success with a warning.
    virtual Task<ProbeOutcome> http(HttpTarget target, Duration timeout) = 0;
    virtual Task<ProbeOutcome> tcp(std::string host, std::uint16_t port, Duration timeout) = 0;
    /// grpc.health.v1.Health/Check.
    virtual Task<ProbeOutcome> grpc(std::string host, std::uint16_t port, std::string service, Duration timeout) = 0;
};

std::unique_ptr<NetworkProber> make_network_prober(AsioLoop& loop);

}  // namespace porthole::kubelet
