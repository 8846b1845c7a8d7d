#pragma once
#include <string>

namespace porthole::cmd {

struct KeyPair {
    std::string certificate_pem, key_pem;
};

}  // namespace porthole::cmd
