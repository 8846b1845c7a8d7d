#include "dns/zone.h"

#include <algorithm>
#include <charconv>

namespace porthole::dns {

namespace {

constexpr int LongestChain = 8;
/// More of the smallest, of 16 bytes, do not fit a message, which says so: the client hears that it was cut off.
constexpr std::size_t MostRecords = 4096;

/// The address of a name below in-addr.arpa or ip6.arpa, if it is a whole one.
std::optional<IpAddress> reverse_address(const Name& name) {
    const Name lower = name.lower();
    const auto labels = lower.labels();
    if (labels.size() == 6 && labels[4] == "in-addr" && labels[5] == "arpa") {
        std::string text;
        for (std::size_t at = 4; at > 0; --at) text.append(labels[at - 1]).append(at > 1 ? "." : "");
        const auto address = IpAddress::parse(text);
        return address ? std::optional(*address) : std::nullopt;
    }
    if (labels.size() != 34 || labels[32] != "ip6" || labels[33] != "arpa") return std::nullopt;
    std::array<std::uint8_t, 16> bytes{};
    for (std::size_t i = 0; i < 32; ++i) {
        const std::string_view digit = labels[31 - i];
        unsigned value = 0;
        const auto [end, error] = std::from_chars(digit.data(), digit.data() + digit.size(), value, 16);
        if (digit.size() != 1 || error != std::errc() || end != digit.data() + 1) return std::nullopt;
        bytes[i / 2] = static_cast<std::uint8_t>(bytes[i / 2] << 4 | value);
    }
    return IpAddress::v6(bytes);
}

bool family_fits(const IpAddress& address, Type type) {
    return type == Type::ANY || (type == Type::A && address.is_v4()) || (type == Type::AAAA && address.is_v6());
}

Type address_type(const IpAddress& address) { return address.is_v4() ? Type::A : Type::AAAA; }

}  // namespace

std::string address_label(const IpAddress& address) {
    std::string label = address.to_string();
    std::ranges::replace(label, '.', '-');
    std::ranges::replace(label, ':', '-');
    if (label.starts_with('-')) label.insert(0, "0");
    if (label.ends_with('-')) label += "0";
    return label;
}

std::optional<IpAddress> address_of_label(std::string_view label) {
    std::string dotted(label), colons(label);
    std::ranges::replace(dotted, '-', '.');
    if (const auto v4 = IpAddress::parse(dotted)) return *v4;
    std::ranges::replace(colons, '-', ':');
    if (const auto v6 = IpAddress::parse(colons)) return *v6;
    return std::nullopt;
}

/// Collects the answer to one question; the owner of records is the name as asked, so that its case comes back.
class Zone::Builder {
public:
    Builder(const Zone& zone, Name name, Type type, std::uint32_t serial)
        : zone_(zone), name_(std::move(name)), type_(type), serial_(serial) {
        answer_.reply.authoritative = true;
        answer_.reply.rcode = Rcode::NxDomain;
    }

    Type type() const { return type_; }
    /// The name exists, whether or not there is anything of the type asked for.
    void exists() { answer_.reply.rcode = Rcode::NoError; }
    void add(Type type, decltype(Record::data) data, std::optional<std::uint32_t> ttl = {}) {
        exists();
        if ((type_ != type && type_ != Type::ANY) || is_full()) return;
        answer_.reply.answers.push_back({name_, type, ttl.value_or(zone_.options_.ttl), std::move(data)});
    }
    void add_addresses(std::vector<IpAddress> addresses) {
        exists();
        std::erase_if(addresses, [&](const IpAddress& address) { return !family_fits(address, type_); });
        for (std::size_t i = addresses.size(); i > 1; --i) std::swap(addresses[i - 1], addresses[zone_.random_.below(i)]);
        answer_.reply.answers.reserve(addresses.size());
        for (const IpAddress& address : addresses) add(address_type(address), address);
    }
    void add_srv(const Srv& srv, std::span<const IpAddress> addresses) {
        exists();
        if ((type_ != Type::SRV && type_ != Type::ANY) || is_full()) return;
        const std::string target(srv.target.lower().wire());
        for (const IpAddress& address : addresses) {
            if (answer_.reply.additional.size() >= MostRecords) break;
            if (addresses_.emplace(target, address).second)
                answer_.reply.additional.push_back({srv.target, address_type(address), zone_.options_.ttl, address});
        }
        if (ports_.emplace(target, srv.port).second) answer_.reply.answers.push_back({name_, Type::SRV, zone_.options_.ttl, srv});
    }
    /// Whether further records could not be told to anyone.
    bool is_full() const { return answer_.reply.answers.size() >= MostRecords; }
    /// The rest of the answer is what `target` has.
    void follow(const Name& target) {
        exists();
        if (type_ != Type::A && type_ != Type::AAAA && type_ != Type::CNAME && type_ != Type::ANY) return;
        answer_.reply.answers.push_back({name_, Type::CNAME, zone_.options_.ttl, target});
        if (type_ == Type::CNAME || type_ == Type::ANY) return;
        ++chain_length_;
        if (target.ends_with(zone_.options_.domain) && chain_length_ < LongestChain) {
            name_ = target;
            zone_.answer_in_zone(target, *this);
            exists();
        } else if (chain_length_ < LongestChain) {
            answer_.elsewhere = target;
        }
    }
    void add_soa() { add(Type::SOA, soa(), std::min(zone_.options_.ttl, 300u)); }

    ZoneAnswer take() {
        Reply& reply = answer_.reply;
        const auto srv_count =
            static_cast<std::size_t>(std::ranges::count_if(reply.answers, [](const Record& record) { return record.type == Type::SRV; }));
        for (Record& record : reply.answers) {
            if (auto* srv = std::get_if<Srv>(&record.data))
                srv->weight = static_cast<std::uint16_t>(std::max<std::size_t>(1, 100 / srv_count));
        }
        if (reply.answers.empty()) {
            reply.authority.push_back({zone_.options_.domain, Type::SOA, std::min(zone_.options_.ttl, 300u), soa()});
        }
        return std::move(answer_);
    }

private:
    Soa soa() const {
        return {.name_server = Name({"ns", "dns"}) + zone_.options_.domain,
                .mailbox = Name({"hostmaster"}) + zone_.options_.domain,
                .serial = serial_,
                .refresh = 7200,
                .retry = 1800,
                .expire = 86400,
                .minimum = zone_.options_.ttl};
    }
    const Zone& zone_;
    Name name_;
    Type type_;
    std::uint32_t serial_;
    int chain_length_ = 0;
    // Of the SRV records of the answer, and of what is told of their targets.
    std::set<std::pair<std::string, std::uint16_t>> ports_;
    std::set<std::pair<std::string, IpAddress>> addresses_;
    ZoneAnswer answer_;
};

// ---- objects

void Zone::index(const ServiceNames& names, bool add) {
    const Key key{names.namespace_, names.name};
    for (const IpAddress& address : names.cluster_ips) {
        if (add)
            service_of_address_[address] = key;
        else if (const auto known = service_of_address_.find(address); known != service_of_address_.end() && known->second == key)
            service_of_address_.erase(known);
    }
}

void Zone::index(const SliceNames& slice, bool add) {
    for (const auto& endpoint : slice.endpoints) {
        for (const IpAddress& address : endpoint.addresses) {
            NamedEndpoint entry{{slice.namespace_, slice.service}, endpoint.hostname.empty() ? address_label(address) : endpoint.hostname};
            if (add) {
                endpoints_of_address_[address].insert(std::move(entry));
                continue;
            }
            const auto known = endpoints_of_address_.find(address);
            known->second.erase(known->second.find(entry));
            if (known->second.empty()) endpoints_of_address_.erase(known);
        }
    }
}

void Zone::set_service(ServiceNames service) {
    Service& entry = services_[{service.namespace_, service.name}];
    if (entry.names) index(*entry.names, false);
    index(service, true);
    entry.names = std::move(service);
}

void Zone::remove_service(const std::string& namespace_, const std::string& name) {
    const auto found = services_.find({namespace_, name});
    if (found == services_.end()) return;
    if (found->second.names) index(*found->second.names, false);
    found->second.names.reset();
    if (found->second.slices.empty()) services_.erase(found);
}

void Zone::set_slice(SliceNames slice) {
    remove_slice(slice.namespace_, slice.name);
    const Key service{slice.namespace_, slice.service};
    service_of_slice_[{slice.namespace_, slice.name}] = service;
    index(slice, true);
    const std::string name = slice.name;
    services_[service].slices[name] = std::move(slice);
}

void Zone::remove_slice(const std::string& namespace_, const std::string& name) {
    const auto owner = service_of_slice_.find({namespace_, name});
    if (owner == service_of_slice_.end()) return;
    const auto found = services_.find(owner->second);
    const auto slice = found->second.slices.find(name);
    index(slice->second, false);
    found->second.slices.erase(slice);
    if (!found->second.names && found->second.slices.empty()) services_.erase(found);
    service_of_slice_.erase(owner);
}

// ---- questions

std::optional<ZoneAnswer> Zone::answer(const Name& name, Type type, std::uint32_t serial) const {
    if (!name.ends_with(options_.domain)) return answer_reverse(name, type, serial);
    Builder builder(*this, name, type, serial);
    answer_in_zone(name, builder);
    return builder.take();
}

/// Requires: name.ends_with(domain).
void Zone::answer_in_zone(const Name& name, Builder& builder) const {
    const Name lower = name.without_last(options_.domain.size()).lower();
    answer_in_zone(lower.labels(), builder);
}

/// `labels` are those left of the zone, in lower case.
void Zone::answer_in_zone(Labels labels, Builder& builder) const {
    if (labels.empty()) return answer_apex(builder);
    const std::string_view branch = labels.back();
    if (labels.size() == 1) {
        if (branch == "dns-version") builder.add(Type::TXT, Text{"1.1.0"}, 28800);
        if (branch == "svc" || branch == "pod" || branch == "dns") builder.exists();
        return;
    }
    const std::string_view second = labels[labels.size() - 2];
    if (branch == "dns" && labels.size() == 2 && second == "ns") {
        builder.exists();
        if (options_.server_address) builder.add_addresses({*options_.server_address});
        return;
    }
    if ((branch != "svc" && branch != "pod") || !namespaces_.contains(second)) return;
    if (labels.size() == 2) return builder.exists();
    if (branch == "svc") return answer_service(labels, second, builder);
    if (labels.size() == 3) answer_pod(labels[0], builder);
}

void Zone::answer_apex(Builder& builder) const {
    builder.exists();
    builder.add_soa();
    builder.add(Type::NS, Name({"ns", "dns"}) + options_.domain);
}

void Zone::answer_pod(std::string_view label, Builder& builder) const {
    if (const auto address = address_of_label(label)) builder.add_addresses({*address});
}

void Zone::answer_service(Labels labels, std::string_view namespace_, Builder& builder) const {
    const auto found = services_.find({std::string(namespace_), std::string(labels[labels.size() - 3])});
    if (found == services_.end() || !found->second.names) return;
    const Service& service = found->second;
    switch (labels.size()) {
        case 3:
            if (!service.names->external_name.empty()) return answer_external(*service.names, builder);
            return service.names->headless() ? answer_headless(service, builder) : answer_cluster_ip(*service.names, builder);
        case 4:
            return answer_endpoint(service, labels[0], builder);
        case 5:
            if (labels[0].starts_with('_') && labels[1].starts_with('_'))
                answer_port(service, labels[0].substr(1), labels[1].substr(1), builder);
            return;
        default:
            return;
    }
}

Name Zone::service_name(const ServiceNames& service) const { return Name({service.name, service.namespace_, "svc"}) + options_.domain; }

void Zone::answer_cluster_ip(const ServiceNames& service, Builder& builder) const {
    builder.exists();
    if (builder.type() != Type::SRV) builder.add_addresses(service.cluster_ips);
    for (const auto& port : service.ports) builder.add_srv({.port = port.port, .target = service_name(service)}, service.cluster_ips);
}

void Zone::answer_external(const ServiceNames& service, Builder& builder) const {
    builder.exists();
    if (IpAddress::parse(service.external_name)) return;  // an address is no name
    if (const auto target = Name::parse(service.external_name)) builder.follow(*target);
}

bool Zone::is_published(const Service& service, const SliceNames::Endpoint& endpoint) {
    return endpoint.ready || service.names->publish_not_ready;
}

std::vector<Zone::Target> Zone::targets(const Service& service) const {
    std::vector<Target> result;
    for (const auto& [name, slice] : service.slices) {
        for (const auto& endpoint : slice.endpoints) {
            if (!is_published(service, endpoint)) continue;
            if (!endpoint.hostname.empty()) {
                result.push_back({endpoint.hostname, endpoint.addresses, &slice});
                continue;
            }
            for (const IpAddress& address : endpoint.addresses) result.push_back({address_label(address), {&address, 1}, &slice});
        }
    }
    return result;
}

void Zone::answer_headless(const Service& service, Builder& builder) const {
    if (builder.type() != Type::SRV) {
        std::vector<IpAddress> addresses;
        for (const auto& [name, slice] : service.slices) {
            for (const auto& endpoint : slice.endpoints)
                if (is_published(service, endpoint))
                    addresses.insert(addresses.end(), endpoint.addresses.begin(), endpoint.addresses.end());
        }
        std::ranges::sort(addresses);
        addresses.erase(std::ranges::unique(addresses).begin(), addresses.end());
        if (!addresses.empty()) builder.add_addresses(std::move(addresses));
    }
    if (builder.type() != Type::SRV && builder.type() != Type::ANY) return;
    for (const Target& target : targets(service)) {
        if (builder.is_full()) break;
        for (const auto& port : target.slice->ports) {
            builder.add_srv({.port = port.port, .target = Name({target.hostname}) + service_name(*service.names)}, target.addresses);
        }
    }
}

void Zone::answer_endpoint(const Service& service, std::string_view hostname, Builder& builder) const {
    std::vector<IpAddress> addresses;
    for (const Target& target : targets(service)) {
        if (target.hostname != hostname) continue;
        builder.exists();
        addresses.insert(addresses.end(), target.addresses.begin(), target.addresses.end());
    }
    std::ranges::sort(addresses);
    addresses.erase(std::ranges::unique(addresses).begin(), addresses.end());
    if (!addresses.empty()) builder.add_addresses(std::move(addresses));
}

void Zone::answer_port(const Service& service, std::string_view port, std::string_view protocol, Builder& builder) const {
    const auto is_asked = [&](const ServiceNames::Port& one) { return one.name == port && one.protocol == protocol; };
    if (!service.names->headless()) {
        for (const auto& one : service.names->ports) {
            if (is_asked(one)) builder.add_srv({.port = one.port, .target = service_name(*service.names)}, service.names->cluster_ips);
        }
        return;
    }
    for (const Target& target : targets(service)) {
        if (builder.is_full()) break;
        for (const auto& one : target.slice->ports) {
            if (!is_asked(one)) continue;
            builder.add_srv({.port = one.port, .target = Name({target.hostname}) + service_name(*service.names)}, target.addresses);
        }
    }
}

bool Zone::reverse_is_ours(const IpAddress& address) const {
    return std::ranges::any_of(options_.own_prefixes, [&](const IpPrefix& prefix) { return prefix.contains(address); });
}

std::optional<ZoneAnswer> Zone::answer_reverse(const Name& name, Type type, std::uint32_t serial) const {
    const auto address = reverse_address(name);
    if (!address) return std::nullopt;
    Builder builder(*this, name, type, serial);
    if (const auto service = service_of_address_.find(*address); service != service_of_address_.end()) {
        const auto& [namespace_, service_label] = service->second;
        builder.add(Type::PTR, Name({service_label, namespace_, "svc"}) + options_.domain);
        return builder.take();
    }
    const auto endpoints = endpoints_of_address_.find(*address);
    if (endpoints != endpoints_of_address_.end()) {
        for (const auto& [key, hostname] : endpoints->second) {
            if (builder.is_full()) break;
            builder.add(Type::PTR, Name({hostname, key.second, key.first, "svc"}) + options_.domain);
        }
    } else if (!reverse_is_ours(*address)) {
        return std::nullopt;
    }
    return builder.take();
}

}  // namespace porthole::dns
