#pragma once
#include <string>

namespace porthole::node_join {

/// A certificate and its private key.
struct KeyPair {
    std::string certificate_pem, key_pem;
};

}  // namespace porthole::node_join
