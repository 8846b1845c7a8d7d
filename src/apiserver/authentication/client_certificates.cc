#include "apiserver/authentication/client_certificates.h"

#include <algorithm>

namespace porthole::apiserver {

void ClientCertificates::trust(std::vector<std::string> authorities) {
    authorities_ = std::move(authorities);
    if (authorities_.size() < 2) sightings_.clear();
}

bool ClientCertificates::accepts(const net::CertificateIdentity& certificate) const {
    return authorities_.empty() || std::ranges::find(authorities_, certificate.authority) != authorities_.end();
}

void ClientCertificates::saw(const net::CertificateIdentity& certificate, SystemTime now) {
    if (authorities_.size() < 2) return;
    const auto found = sightings_.find(certificate.common_name);
    if (found != sightings_.end()) {
        found->second = {certificate.authority, now};
    } else if (sightings_.size() < MostClients) {
        sightings_.emplace(certificate.common_name, Sighting{certificate.authority, now});
    }
}

}  // namespace porthole::apiserver
