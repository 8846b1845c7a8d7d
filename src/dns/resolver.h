#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "dns/forwarder.h"
#include "dns/zone.h"

namespace porthole::dns {

enum class DnsTransport : std::uint8_t { Udp, Tcp };

/// Answers a query from the zone or from other servers. Lives on the zone's loop; references must outlive it.
class Resolver {
public:
    /// `zone_complete` is called before each answer from the zone: until it is true, clients get SERVFAIL instead of a wrong NXDOMAIN.
    Resolver(const Clock& clock, const Zone& zone, Forwarder& forwarder, std::function<bool()> zone_complete)
        : clock_(clock), zone_(zone), forwarder_(forwarder), zone_complete_(std::move(zone_complete)) {}

    struct Immediate {
        std::optional<std::string> reply;  ///< "" for a message that deserves none
        std::optional<Query> later;        ///< otherwise: the query to pass to answer_later()
    };
    /// Answers without suspending if no other server is needed.
    Immediate answer_now(std::string_view message, DnsTransport transport);
    /// Error: Cancelled only.
    Task<std::string> answer_later(Query query, DnsTransport transport);

private:
    static std::size_t limit(const Query& query, DnsTransport transport);
    std::optional<ZoneAnswer> ask_zone(const Query& query) const;

    const Clock& clock_;
    const Zone& zone_;
    Forwarder& forwarder_;
    std::function<bool()> zone_complete_;
};

/// The reply to a client that is not served; "" for a message that deserves none.
std::string refuse(std::string_view message);

}  // namespace porthole::dns
