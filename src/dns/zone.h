#pragma once
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/values/ip.h"
#include "dns/message.h"
#include "runtime/random.h"

namespace porthole::dns {

/// A Service as names see it.
struct ServiceNames {
    struct Port {
        std::string name, protocol;  ///< protocol in lower case
        std::uint16_t port = 0;
    };
    std::string namespace_, name;
    std::vector<IpAddress> cluster_ips;  ///< none for headless and ExternalName
    std::string external_name;           ///< of type ExternalName
    bool publish_not_ready = false;
    std::vector<Port> ports;
    bool headless() const { return cluster_ips.empty() && external_name.empty(); }
};

/// An EndpointSlice as names see it.
struct SliceNames {
    struct Endpoint {
        std::vector<IpAddress> addresses;
        std::string hostname;  ///< "" for none: the address is used instead
        bool ready = true;
    };
    std::string namespace_, name, service;
    std::vector<ServiceNames::Port> ports;
    std::vector<Endpoint> endpoints;
};

/// Options of the zone.
struct ZoneOptions {
    Name domain = Name({"cluster", "local"});
    std::uint32_t ttl = 5;                    ///< seconds
    std::optional<IpAddress> server_address;  ///< of ns.dns.<domain>
    std::vector<IpPrefix> own_prefixes;       ///< of pods and services: their reverse names are never forwarded
};

/// The zone's answer to a question.
struct ZoneAnswer {
    Reply reply;
    /// The question that remains: the target of a CNAME outside the zone. Its addresses belong after the answers.
    std::optional<Name> elsewhere;
};

/// The cluster's own names, by "Kubernetes DNS-Based Service Discovery" 1.1.0. Pure logic, not thread-safe; `random` shuffles answers and
/// must outlive it.
class Zone {
public:
    Zone(ZoneOptions options, Random& random) : options_(std::move(options)), random_(random) {}

    void set_service(ServiceNames service);
    void remove_service(const std::string& namespace_, const std::string& name);
    void set_slice(SliceNames slice);
    void remove_slice(const std::string& namespace_, const std::string& name);
    void add_namespace(const std::string& name) { namespaces_.insert(name); }
    void remove_namespace(const std::string& name) { namespaces_.erase(name); }

    /// nullopt for a name outside the zone. `serial` is the zone's, as upstream the time in seconds.
    std::optional<ZoneAnswer> answer(const Name& name, Type type, std::uint32_t serial) const;

private:
    using Key = std::pair<std::string, std::string>;  // namespace, name
    struct Service {
        std::optional<ServiceNames> names;
        std::map<std::string, SliceNames> slices;
    };
    struct Target {  // an endpoint of a service
        std::string hostname;
        std::span<const IpAddress> addresses;
        const SliceNames* slice;
    };
    class Builder;

    using Labels = std::span<const std::string_view>;
    void answer_in_zone(Labels labels, Builder& builder) const;
    void answer_in_zone(const Name& name, Builder& builder) const;
    void answer_apex(Builder& builder) const;
    void answer_pod(std::string_view label, Builder& builder) const;
    void answer_service(Labels labels, std::string_view namespace_, Builder& builder) const;
    void answer_cluster_ip(const ServiceNames& service, Builder& builder) const;
    void answer_headless(const Service& service, Builder& builder) const;
    void answer_external(const ServiceNames& service, Builder& builder) const;
    void answer_endpoint(const Service& service, std::string_view hostname, Builder& builder) const;
    void answer_port(const Service& service, std::string_view port, std::string_view protocol, Builder& builder) const;
    std::optional<ZoneAnswer> answer_reverse(const Name& name, Type type, std::uint32_t serial) const;
    std::vector<Target> targets(const Service& service) const;
    static bool is_published(const Service& service, const SliceNames::Endpoint& endpoint);
    Name service_name(const ServiceNames& service) const;
    bool reverse_is_ours(const IpAddress& address) const;
    void index(const ServiceNames& names, bool add);
    void index(const SliceNames& slice, bool add);

    ZoneOptions options_;
    Random& random_;
    std::map<Key, Service> services_;
    std::map<Key, Key> service_of_slice_;
    std::set<std::string, std::less<>> namespaces_;
    std::map<IpAddress, Key> service_of_address_;
    using NamedEndpoint = std::pair<Key, std::string>;  // service and hostname
    std::map<IpAddress, std::multiset<NamedEndpoint>> endpoints_of_address_;
};

/// The label of an endpoint without a hostname: "10-244-0-2".
std::string address_label(const IpAddress& address);
/// The reverse of address_label().
std::optional<IpAddress> address_of_label(std::string_view label);

}  // namespace porthole::dns
