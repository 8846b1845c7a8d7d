#pragma once  // private to winhost/images
#include <cstdint>
#include <string>

#include "base/result.h"

namespace porthole::winhost {

/// The parts of an http or https URL.
struct Url {
    std::string scheme, host;  ///< host without the brackets of IPv6
    std::uint16_t port = 0;
    std::string path = "/";  ///< as written
    std::string query;       ///< as written, without "?"

    /// Error: BadRequest.
    static Result<Url> parse(const std::string& text);
    /// scheme://host:port
    std::string origin() const;
    /// host, with the port where it is not the scheme's own
    std::string authority() const;
    std::string text() const { return origin() + path + (query.empty() ? "" : "?" + query); }
    /// The address that a Location header found at this one means. Error: BadRequest.
    Result<Url> resolve(const std::string& location) const;
};

}  // namespace porthole::winhost
