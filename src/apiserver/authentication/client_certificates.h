#pragma once
#include <map>
#include <string>
#include <vector>

#include "net/peer.h"

namespace porthole::apiserver {

/// The authorities whose client certificates are accepted, and, while there are several, which client last used which. A connection may
/// outlive the authority that it began with, so each request is checked. Lives on the server's loop.
class ClientCertificates {
public:
    struct Sighting {
        std::string authority;
        SystemTime time{};
    };
    /// Ids of authorities as in net::CertificateIdentity::authority; empty: every certificate that the connection has verified is accepted.
    /// Recorded clients are dropped unless there are several authorities.
    void trust(std::vector<std::string> authorities);
    bool accepts(const net::CertificateIdentity& certificate) const;
    /// Records `certificate` as the latest of its name. Nothing is recorded with one authority, and at most MostClients.
    void saw(const net::CertificateIdentity& certificate, SystemTime now);

    using Sightings = std::map<std::string, Sighting>;  ///< by common name
    const Sightings& sightings() const { return sightings_; }
    /// Restores what was recorded before this process was started; requires several authorities.
    void remember(Sightings sightings) { sightings_ = std::move(sightings); }

    static constexpr std::size_t MostClients = 10'000;

private:
    std::vector<std::string> authorities_;
    Sightings sightings_;
};

}  // namespace porthole::apiserver
