#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/values/ip.h"
#include "schema/value.h"

namespace porthole::cni {

/// Name servers and suffixes, in results and in configurations.
struct Dns {
    std::vector<std::string> nameservers, search, options;
    std::string domain;

    bool empty() const { return nameservers.empty() && search.empty() && options.empty() && domain.empty(); }
    bool operator==(const Dns&) const = default;
};
/// Members of the wrong kind count as absent; names in any case ("Nameservers" of old configurations).
Dns read_dns(const schema::Value& value);
schema::Value to_value(const Dns& dns);

/// The result of an ADD, independent of the protocol's version.
struct CniResult {
    struct Interface {
        std::string name, mac, sandbox;
    };
    struct Ip {
        IpAddress address;
        int prefix_length = 0;
        std::optional<IpAddress> gateway;
        std::optional<std::size_t> interface;  ///< index into interfaces
    };
    struct Route {
        IpPrefix destination;
        std::optional<IpAddress> gateway;
    };
    std::vector<Interface> interfaces;
    std::vector<Ip> ips;
    std::vector<Route> routes;
    Dns dns;
};

/// In the form of that version: 0.1.0 and 0.2.0 have one address a family and no interfaces.
schema::Value to_value(const CniResult& result, std::string_view version);
/// Of any version. Error: BadRequest.
Result<CniResult> read_result(const schema::Value& value);

}  // namespace porthole::cni
