#include "dns/zone.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace porthole::dns {
namespace {

IpAddress ip(const char* text) { return IpAddress::parse(text).value(); }

std::string data_text(const Record& record) {
    struct Visitor {
        std::string operator()(const IpAddress& address) { return address.to_string(); }
        std::string operator()(const Name& name) { return name.to_string(); }
        std::string operator()(const Srv& srv) {
            return std::to_string(srv.weight) + " " + std::to_string(srv.port) + " " + srv.target.to_string();
        }
        std::string operator()(const Soa& soa) { return "soa " + std::to_string(soa.serial); }
        std::string operator()(const Text& text) { return "\"" + text.text + "\""; }
    };
    return std::visit(Visitor(), record.data);
}

std::string texts(const std::vector<Record>& records) {
    std::vector<std::string> lines;
    for (const Record& record : records) lines.push_back(data_text(record));
    std::ranges::sort(lines);
    std::string text;
    for (const auto& line : lines) text.append(text.empty() ? "" : ", ").append(line);
    return text;
}

/// A namespace with a service of each sort.
struct ZoneWorld {
    SeededRandom random{3};
    Zone zone{{.server_address = ip("10.96.0.10"),
               .own_prefixes = {IpPrefix::parse("10.244.0.0/16").value(), IpPrefix::parse("10.96.0.0/12").value()}},
              random};

    ZoneWorld() {
        for (const char* name : {"default", "kube-system", "empty"}) zone.add_namespace(name);
        zone.set_service({.namespace_ = "default",
                          .name = "web",
                          .cluster_ips = {ip("10.96.0.20"), ip("fd00::20")},
                          .ports = {{"http", "tcp", 80}, {"", "udp", 53}}});
        zone.set_slice({"default", "web-1", "web", {{"http", "tcp", 8080}}, {{{ip("10.244.0.9")}, "", true}}});
        zone.set_service({.namespace_ = "default", .name = "db", .ports = {{"sql", "tcp", 5432}}});
        zone.set_slice({"default",
                        "db-1",
                        "db",
                        {{"sql", "tcp", 5433}},
                        {{{ip("10.244.0.2")}, "db-0", true}, {{ip("10.244.1.2")}, "", true}, {{ip("10.244.1.3")}, "db-9", false}}});
        zone.set_service({.namespace_ = "default", .name = "out", .external_name = "api.example.com"});
        zone.set_service({.namespace_ = "default", .name = "alias", .external_name = "web.default.svc.cluster.local"});
        zone.set_service({.namespace_ = "default", .name = "loop", .external_name = "loop.default.svc.cluster.local"});
        zone.set_service({.namespace_ = "default", .name = "number", .external_name = "10.0.0.1"});
        zone.set_service({.namespace_ = "default", .name = "lonely"});
        zone.set_service({.namespace_ = "default", .name = "v4only", .cluster_ips = {ip("10.96.0.30")}});
    }
    std::string ask(const std::string& name, Type type = Type::A) {
        const auto answer = zone.answer(Name::parse(name).value(), type, 42);
        if (!answer) return "not ours";
        std::string text = answer->reply.rcode == Rcode::NxDomain ? "NXDOMAIN" : texts(answer->reply.answers);
        if (answer->reply.answers.empty()) EXPECT_EQ(texts(answer->reply.authority), "soa 42") << name;
        if (answer->elsewhere) text += " -> " + answer->elsewhere->to_string();
        return text;
    }
};

TEST(Zone, AnswersByTheSpecification) {
    ZoneWorld world;
    struct {
        const char* name;
        Type type;
        const char* expected;
    } const rows[] = {
        {"dns-version.cluster.local", Type::TXT, "\"1.1.0\""},
        {"web.default.svc.cluster.local", Type::A, "10.96.0.20"},
        {"WEB.Default.svc.cluster.LOCAL", Type::A, "10.96.0.20"},
        {"web.default.svc.cluster.local", Type::AAAA, "fd00::20"},
        {"v4only.default.svc.cluster.local", Type::AAAA, ""},
        {"web.default.svc.cluster.local", Type::MX, ""},
        {"web.default.svc.cluster.local", Type::SRV, "50 53 web.default.svc.cluster.local., 50 80 web.default.svc.cluster.local."},
        {"_http._tcp.web.default.svc.cluster.local", Type::SRV, "100 80 web.default.svc.cluster.local."},
        {"_http._udp.web.default.svc.cluster.local", Type::SRV, "NXDOMAIN"},
        {"_http._tcp.web.default.svc.cluster.local", Type::A, ""},
        {"10-244-0-9.web.default.svc.cluster.local", Type::A, "10.244.0.9"},
        {"db.default.svc.cluster.local", Type::A, "10.244.0.2, 10.244.1.2"},
        {"db.default.svc.cluster.local", Type::AAAA, ""},
        {"db-0.db.default.svc.cluster.local", Type::A, "10.244.0.2"},
        {"10-244-1-2.db.default.svc.cluster.local", Type::A, "10.244.1.2"},
        {"db-9.db.default.svc.cluster.local", Type::A, "NXDOMAIN"},
        {"_sql._tcp.db.default.svc.cluster.local", Type::SRV,
         "50 5433 10-244-1-2.db.default.svc.cluster.local., 50 5433 db-0.db.default.svc.cluster.local."},
        {"lonely.default.svc.cluster.local", Type::A, "NXDOMAIN"},
        {"out.default.svc.cluster.local", Type::A, "api.example.com. -> api.example.com."},
        {"out.default.svc.cluster.local", Type::CNAME, "api.example.com."},
        {"out.default.svc.cluster.local", Type::SRV, ""},
        {"alias.default.svc.cluster.local", Type::A, "10.96.0.20, web.default.svc.cluster.local."},
        {"number.default.svc.cluster.local", Type::A, ""},
        {"1-2-3-4.default.pod.cluster.local", Type::A, "1.2.3.4"},
        {"1-2-3-4.default.pod.cluster.local", Type::AAAA, ""},
        {"fd00--1.default.pod.cluster.local", Type::AAAA, "fd00::1"},
        {"1-2-3-4.nowhere.pod.cluster.local", Type::A, "NXDOMAIN"},
        {"words.default.pod.cluster.local", Type::A, "NXDOMAIN"},
        {"20.0.96.10.in-addr.arpa", Type::PTR, "web.default.svc.cluster.local."},
        {"2.0.244.10.in-addr.arpa", Type::PTR, "db-0.db.default.svc.cluster.local."},
        {"9.9.244.10.in-addr.arpa", Type::PTR, "NXDOMAIN"},
        {"1.2.0.192.in-addr.arpa", Type::PTR, "not ours"},
        {"0.2.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.d.f.ip6.arpa", Type::PTR, "web.default.svc.cluster.local."},
        {"cluster.local", Type::SOA, "soa 42"},
        {"cluster.local", Type::NS, "ns.dns.cluster.local."},
        {"ns.dns.cluster.local", Type::A, "10.96.0.10"},
        {"cluster.local", Type::A, ""},
        {"svc.cluster.local", Type::A, ""},
        {"empty.svc.cluster.local", Type::A, ""},
        {"nowhere.svc.cluster.local", Type::A, "NXDOMAIN"},
        {"absent.default.svc.cluster.local", Type::A, "NXDOMAIN"},
        {"a.b.c.web.default.svc.cluster.local", Type::A, "NXDOMAIN"},
        {"web.default.svc.cluster.local.default.svc.cluster.local", Type::A, "NXDOMAIN"},
        {"example.com", Type::A, "not ours"},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(std::string(row.name) + " " + std::to_string(static_cast<int>(row.type)));
        EXPECT_EQ(world.ask(row.name, row.type), row.expected);
    }
}

TEST(Zone, AddsTheAddressesOfSrvTargets) {
    ZoneWorld world;
    const auto answer = world.zone.answer(Name::parse("_sql._tcp.db.default.svc.cluster.local").value(), Type::SRV, 1);
    EXPECT_EQ(texts(answer->reply.additional), "10.244.0.2, 10.244.1.2");
}

TEST(Zone, EndsCircularNames) {
    ZoneWorld world;
    const std::string answer = world.ask("loop.default.svc.cluster.local");
    EXPECT_EQ(std::ranges::count(answer, ','), 7);
}

TEST(Zone, CollectsNoMoreThanAMessageTakes) {
    ZoneWorld world;
    SliceNames slice{"default", "many-1", "many", {}, {}};
    for (std::uint16_t port = 1; port <= 100; ++port) slice.ports.push_back({"p" + std::to_string(port), "tcp", port});
    for (std::uint32_t at = 0; at < 1000; ++at) {
        const std::uint32_t first = 0x0af50000 + at * 16;
        std::vector<IpAddress> addresses;
        for (std::uint32_t i = 0; i < 16; ++i) addresses.push_back(IpAddress::v4(first + i));
        slice.endpoints.push_back({std::move(addresses), at % 2 == 0 ? "same" : "", true});
    }
    world.zone.set_service({.namespace_ = "default", .name = "many"});
    world.zone.set_slice(std::move(slice));
    const std::pair<const char*, Type> rows[] = {
        {"many.default.svc.cluster.local", Type::SRV},          {"many.default.svc.cluster.local", Type::ANY},
        {"_p7._tcp.many.default.svc.cluster.local", Type::SRV}, {"many.default.svc.cluster.local", Type::A},
        {"same.many.default.svc.cluster.local", Type::A},
    };
    for (const auto& [name, type] : rows) {
        SCOPED_TRACE(name);
        const auto answer = world.zone.answer(Name::parse(name).value(), type, 42);
        ASSERT_TRUE(answer);
        EXPECT_EQ(answer->reply.answers.size(), 4096u);
        EXPECT_LE(answer->reply.additional.size(), 4096u);
        const Query asked{.name = Name::parse(name).value(), .type = type};
        EXPECT_TRUE(read_reply(write_reply(asked, answer->reply, 65535))->truncated);
    }
}

TEST(Zone, ShowsUnreadyEndpointsOnlyWhenPublished) {
    ZoneWorld world;
    world.zone.set_service({.namespace_ = "default", .name = "db", .publish_not_ready = true});
    EXPECT_EQ(world.ask("db.default.svc.cluster.local"), "10.244.0.2, 10.244.1.2, 10.244.1.3");
    EXPECT_EQ(world.ask("db-9.db.default.svc.cluster.local"), "10.244.1.3");
}

TEST(Zone, ManyServicesOfTheSamePodsTakeLinearTime) {
    constexpr int Services = 3'000, Pods = 20;
    ZoneWorld world;
    const auto slice_of = [](int service) {
        SliceNames slice{.namespace_ = "default", .name = "slice-" + std::to_string(service), .service = "s" + std::to_string(service)};
        for (std::uint32_t pod = 0; pod < Pods; ++pod) slice.endpoints.push_back({{IpAddress::v4(0x0af40900 + pod)}, "", true});
        return slice;
    };
    for (int round = 0; round < 2; ++round)
        for (int service = 0; service < Services; ++service) world.zone.set_slice(slice_of(service));
    const auto pointers = [&] {
        const auto answer = world.zone.answer(Name::parse("3.9.244.10.in-addr.arpa").value(), Type::PTR, 1);
        return answer ? answer->reply.answers.size() : 0;
    };
    EXPECT_EQ(pointers(), std::size_t{Services});
    for (int service = 0; service + 1 < Services; ++service) world.zone.remove_slice("default", "slice-" + std::to_string(service));
    EXPECT_EQ(pointers(), 1u);
    world.zone.remove_slice("default", "slice-" + std::to_string(Services - 1));
    EXPECT_EQ(pointers(), 0u);
}

TEST(Zone, ForgetsWhatIsRemoved) {
    ZoneWorld world;
    world.zone.remove_slice("default", "db-1");
    EXPECT_EQ(world.ask("db.default.svc.cluster.local"), "NXDOMAIN");
    EXPECT_EQ(world.ask("2.0.244.10.in-addr.arpa", Type::PTR), "NXDOMAIN");
    world.zone.remove_service("default", "web");
    EXPECT_EQ(world.ask("web.default.svc.cluster.local"), "NXDOMAIN");
    EXPECT_EQ(world.ask("20.0.96.10.in-addr.arpa", Type::PTR), "NXDOMAIN");
    world.zone.set_service({.namespace_ = "default", .name = "out", .cluster_ips = {ip("10.96.0.40")}});
    EXPECT_EQ(world.ask("out.default.svc.cluster.local"), "10.96.0.40") << "from ExternalName to ClusterIP";
    world.zone.remove_namespace("default");
    EXPECT_EQ(world.ask("out.default.svc.cluster.local"), "NXDOMAIN");
}

}  // namespace
}  // namespace porthole::dns
