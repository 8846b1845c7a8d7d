#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace porthole::net {

/// One block of a PEM text (RFC 7468).
struct PemBlock {
    std::string label;  ///< "CERTIFICATE"
    bool has_headers = false;
    std::string bytes;
};

/// The blocks of `text` in order. Left out, as by Go's library: what is between blocks, and blocks that cannot be decoded.
std::vector<PemBlock> parse_pem(const std::string& text);
/// One block without headers.
std::string to_pem(std::string_view label, std::string_view bytes);

}  // namespace porthole::net
