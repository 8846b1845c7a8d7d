// What an answer of cluster DNS costs without sockets: the zone of many services, and the resolver that reads queries and writes replies.
// Instructions: valgrind --tool=callgrind --toggle-collect='*answer_now*' dns_bench --benchmark_filter=...
#include <benchmark/benchmark.h>
#include <fmt/core.h>

#include "dns/resolver.h"
#include "runtime/sim/sim_loop.h"

namespace porthole::dns {
namespace {

constexpr int Services = 10000, EndpointsEach = 10;

class NoUpstream final : public Upstream {
public:
    Task<std::string> exchange(IpAddress, std::string, bool) override { co_return Error(Reason::Unavailable, "no server"); }
};

/// A resolver of a cluster with 10,000 services, half of them headless, and 100,000 endpoints.
struct World {
    sim::SimLoop loop;
    SeededRandom random{1};
    NoUpstream upstream;
    Zone zone{ZoneOptions{.own_prefixes = {*IpPrefix::parse("10.0.0.0/8")}}, random};
    Forwarder forwarder{loop, upstream, random};
    Resolver resolver{loop, zone, forwarder, [] { return true; }};

    World() {
        zone.add_namespace("default");
        for (int number = 0; number < Services; ++number) add_service(number);
    }
    void add_service(int number) {
        const ServiceNames::Port port{.name = "http", .protocol = "tcp", .port = 80};
        ServiceNames service{.namespace_ = "default", .name = fmt::format("service-{}", number), .ports = {port}};
        if (number % 2 == 0) service.cluster_ips = {IpAddress::v4((10u << 24 | 96u << 16) + static_cast<std::uint32_t>(number))};
        zone.set_service(std::move(service));
        SliceNames slice{.namespace_ = "default",
                         .name = fmt::format("service-{}-slice", number),
                         .service = fmt::format("service-{}", number),
                         .ports = {port}};
        for (int at = 0; at < EndpointsEach; ++at) {
            const auto address = (10u << 24 | 128u << 16) + static_cast<std::uint32_t>(number * EndpointsEach + at);
            slice.endpoints.push_back({.addresses = {IpAddress::v4(address)}});
        }
        zone.set_slice(std::move(slice));
    }
};

void answer(benchmark::State& state, const char* name, Type type) {
    static World world;
    Query query{.name = *Name::parse(name), .type = type};
    const std::string message = write_query(7, query);
    std::size_t bytes = 0;
    for (auto _ : state) bytes += world.resolver.answer_now(message, DnsTransport::Udp).reply->size();
    state.SetItemsProcessed(state.iterations());
    state.counters["bytes"] = static_cast<double>(bytes) / static_cast<double>(state.iterations());
}

BENCHMARK_CAPTURE(answer, address_of_a_service, "service-5000.default.svc.cluster.local", Type::A);
BENCHMARK_CAPTURE(answer, no_ipv6_address_of_a_service, "service-5000.default.svc.cluster.local", Type::AAAA);
BENCHMARK_CAPTURE(answer, first_try_of_a_search_list, "service-5000.default.svc.cluster.local.default.svc.cluster.local", Type::A);
BENCHMARK_CAPTURE(answer, ten_addresses_of_a_headless_service, "service-5001.default.svc.cluster.local", Type::A);
BENCHMARK_CAPTURE(answer, port_of_a_headless_service, "_http._tcp.service-5001.default.svc.cluster.local", Type::SRV);
BENCHMARK_CAPTURE(answer, name_of_an_address, "1.0.96.10.in-addr.arpa", Type::PTR);

}  // namespace
}  // namespace porthole::dns

BENCHMARK_MAIN();
