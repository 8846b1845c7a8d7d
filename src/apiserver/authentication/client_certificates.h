#pragma once
#include <map>
#include <string>
#include <vector>

#include "net/peer.h"

namespace porthole::apiserver {

/// Of which authorities client certificates count, and, while there are several, who has shown one of which. A connection may outlive the
/// authority that it began with, so each request is asked. Lives on the server's loop.
class ClientCertificates {
public:
    struct Sighting {
        std::string authority;
        SystemTime time{};
    };
    /// Ids of authorities as in net::CertificateIdentity::authority; empty: every one that the connection has verified counts. What was
    /// seen is forgotten unless there are several.
    void trust(std::vector<std::string> authorities);
    bool accepts(const net::CertificateIdentity& certificate) const;
    /// Remembers that `certificate` came in, as the latest of its name. Nothing is kept with one authority, and at most MostClients.
    void saw(const net::CertificateIdentity& certificate, SystemTime now);

    using Sightings = std::map<std::string, Sighting>;  ///< by common name
    const Sightings& sightings() const { return sightings_; }
    /// What was seen before this process was started; requires several authorities.
    void remember(Sightings sightings) { sightings_ = std::move(sightings); }

    static constexpr std::size_t MostClients = 10'000;

private:
    std::vector<std::string> authorities_;
    Sightings sightings_;
};

}  // namespace porthole::apiserver
