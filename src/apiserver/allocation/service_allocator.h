#pragma once
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "api/core_v1.h"
#include "apiserver/strategy/strategy.h"
#include "base/values/ip.h"
#include "runtime/random.h"

namespace porthole::apiserver {

/// Assigns cluster addresses and node ports to services.
///
/// An assignment is a record in the store, written in the same transaction as the service and guarded to be absent before: an IPAddress
/// object for an address, a record under /allocation/ for a port. So two services never share one, nothing leaks when a write fails, and
/// all servers of a cluster agree. Lives on the store's loop; `random` and the store must outlive it.
class ServiceAllocator {
public:
    struct Settings {
        std::vector<IpPrefix> cidrs;  ///< one, or one for each family; the first is the default
        std::uint16_t first_node_port = 30000, last_node_port = 32767;
    };
    ServiceAllocator(Settings settings, Random& random) : settings_(std::move(settings)), random_(random) {}
    /// Before the first use.
    void attach(const store::Store& store) { store_ = &store; }

    /// For Strategy::begin_write: `service` is null for a deletion, `old` for a creation. Failed allocations, such as from a full range,
    /// are added to `errors`; the result is always success. Requires: attach().
    Result<void> begin_write(api::core::v1::Service* service, const api::core::v1::Service* old, TransactionDraft& draft,
                             FieldErrors& errors) const;
    /// The operations that make the records consistent with the services again: missing reservations, and removals of those whose service
    /// does not exist. Error: for a record that cannot be read.
    Result<std::vector<store::Operation>> repairs() const;

    const Settings& settings() const { return settings_; }
    bool is_dual_stack() const { return settings_.cidrs.size() > 1; }

private:
    struct Taken {
        std::set<std::string> addresses;
        std::set<std::int32_t> ports;
    };
    static Taken taken_by(const api::core::v1::Service& service);
    void settle_families(api::core::v1::Service& service, const api::core::v1::Service* old, FieldErrors& errors) const;
    void allocate_addresses(api::core::v1::Service& service, const Taken& before, FieldErrors& errors) const;
    void allocate_ports(api::core::v1::Service& service, const api::core::v1::Service* old, const Taken& before, FieldErrors& errors) const;
    std::string pick_address(const IpPrefix& cidr) const;
    std::int32_t pick_port(const std::set<std::int32_t>& chosen) const;
    bool is_free(const IpAddress& address) const;
    bool is_free(std::int32_t port) const;
    const IpPrefix* cidr_of(std::string_view family) const;
    store::Put address_record(const std::string& address, const api::core::v1::Service& service) const;

    Settings settings_;
    Random& random_;
    const store::Store* store_ = nullptr;
};

}  // namespace porthole::apiserver
