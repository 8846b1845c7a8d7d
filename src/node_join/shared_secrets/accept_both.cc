#include "node_join/shared_secrets/accept_both.h"

#include <algorithm>

#include "node_join/pki_files.h"

namespace porthole::node_join {

Pki accept_both(Pki current, const Pki& next) {
    const auto known = split_certificates(current.ca_pem);
    for (const std::string& certificate : split_certificates(next.ca_pem))
        if (std::ranges::find(known, certificate) == known.end()) current.ca_pem += certificate;
    if (next.service_account_key_pem != current.service_account_key_pem)
        current.previous_service_account_key_pem = next.service_account_key_pem;
    return current;
}

}  // namespace porthole::node_join
