// What a node's kernel, runtime and files say to its agents.
#include <linux/rtnetlink.h>

#include "dns/forwarder.h"
#include "dns/message.h"
#include "dns/zone.h"
#include "fuzz_target.h"
#include "hns/emulator/data_plane/linux/link_tables.h"
#include "kubelet/container/cgroups.h"
#include "kubelet/container/network_files.h"
#include "kubelet/node/node_object.h"
#include "kubelet/pod/status.h"
#include "local_cluster/state/cluster.h"
#include "net/http/http1_parser.h"
#include "netlink/netlink.h"
#include "node_join/server_list.h"
#include "objects/csi_volume.h"
#include "objects/pods.h"
#include "proxy/nftables/elements.h"
#include "proxy/nftables/layout.h"
#include "proxy/nftables/listing.h"
#include "runtime/sim/memory_file_system.h"
#include "runtime/sim/sim_loop.h"
#include "schema/json/json.h"
#include "schema/protobuf/protobuf.h"

using namespace porthole;
using namespace porthole::fuzz;

/// The answers of a container runtime, as messages, and what becomes of them in the status of a pod.
FUZZ_TARGET(cri_status_fuzz) {
    using namespace kubelet;
    const auto sandbox = schema::decode_protobuf<cri::PodSandboxStatusResponse>(text);
    const auto container = schema::decode_protobuf<cri::ContainerStatusResponse>(text);
    static_cast<void>(schema::decode_protobuf<cri::ListContainerStatsResponse>(text));
    static_cast<void>(schema::decode_protobuf<cri::ListPodSandboxStatsResponse>(text));
    static_cast<void>(schema::decode_protobuf<cri::StatusResponse>(text));
    static_cast<void>(schema::decode_protobuf<cri::ImageFsInfoResponse>(text));
    if (sandbox) expect(schema::decode_protobuf<cri::PodSandboxStatusResponse>(schema::encode_protobuf(*sandbox)).has_value());
    if (container) expect(schema::decode_protobuf<cri::ContainerStatusResponse>(schema::encode_protobuf(*container)).has_value());
}

/// Each line makes a file or folder of a cgroup tree.
FUZZ_TARGET(cgroup_files_fuzz) {
    sim::SimLoop loop;
    sim::MemoryFileSystem files(loop);
    expect(files.create_directories("/cg", 0755).has_value());
    while (!text.empty()) {
        const std::string line(cut(text, '\n'));
        const std::string path = "/cg/" + line.substr(0, line.find(' '));
        if (const auto space = line.find(' '); space != line.npos) {
            static_cast<void>(files.write(path, line.substr(space + 1), 0644));
        } else {
            static_cast<void>(files.create_directories(path, 0755));
        }
    }
    kubelet::CgroupFiles cgroups(files, "/cg");
    static_cast<void>(cgroups.ensure_tiers(""));
    for (const auto& [uid, cgroup] : cgroups.pods("")) {
        expect(!uid.empty());
        static_cast<void>(cgroups.remove(cgroup));
    }
}

FUZZ_TARGET(resolv_conf_fuzz) {
    const kubelet::cri::DNSConfig host = kubelet::parse_resolv_conf(text);
    kubelet::core::Pod pod;
    pod.metadata.name = "a";
    pod.metadata.namespace_ = "b";
    for (const char* policy : {"ClusterFirst", "Default"}) {
        pod.spec.dns_policy = policy;
        const auto outcome = kubelet::pod_dns(pod, {.servers = {"10.96.0.10"}, .domain = "cluster.local", .host = host});
        expect(outcome.config.servers.size() <= 3 && outcome.config.searches.size() <= 32);
    }
    static_cast<void>(dns::read_resolv_conf(text));
}

FUZZ_TARGET(taint_fuzz) {
    const auto [key, value] = kubelet::parse_label(std::string(text));
    expect(key.size() + value.size() <= text.size());
    if (const auto taint = kubelet::parse_taint(std::string(text))) expect(!taint->key.empty() && !taint->effect.empty());
}

/// What nft and ip list of the kernel's state.
FUZZ_TARGET(nft_listing_fuzz) {
    std::vector<net::NftElement> elements;
    net::read_nft_elements(text, elements);
    elements.push_back({.key = std::string(text), .key_end = std::string(text), .data = std::string(text)});
    net::NftTable table;
    for (const auto& object : proxy::nftables::table_objects()) table.elements[std::string(object.name)] = elements;
    for (const auto& [set, texts] : proxy::nftables::read_listing(table).elements) {
        expect(texts.size() <= elements.size());
        for (const std::string& element : texts) static_cast<void>(proxy::nftables::read_affinity(element));
    }
    static_cast<void>(proxy::nftables::read_affinity(text));
}

FUZZ_TARGET(ip_listing_fuzz) {
    using namespace hns::emulator;
    static_cast<void>(read_links(text));
    static_cast<void>(read_made_routes(text));
    static_cast<void>(read_own_routes(text));
    static_cast<void>(read_own_rules(text));
}

/// Attributes within attributes, as routes and links have them.
FUZZ_TARGET(netlink_fuzz) {
    const net::NetlinkMessage<ifinfomsg> message(text);
    std::size_t seen = 0;
    net::for_each_attribute(message.attributes(), [&](const net::NetlinkAttribute& attribute) {
        ++seen;
        expect(attribute.text().size() <= attribute.payload().size());
        static_cast<void>(attribute.number<std::uint32_t>());
        net::for_each_attribute(attribute.payload(),
                                [&](const net::NetlinkAttribute& inner) { expect(inner.payload().size() <= text.size()); });
    });
    expect(seen * NLA_HDRLEN <= text.size());
}

/// One HTTP/1 message, in pieces of a size that the first byte says.
FUZZ_TARGET(http1_message_fuzz) {
    if (text.empty()) return;
    const std::size_t piece = static_cast<unsigned char>(text.front()) % 32 + 1u;
    text.remove_prefix(1);
    for (const bool request : {true, false}) {
        const net::Http1Limits limits{.header_limit = 2000, .body_limit = 4000};
        const auto parser = request ? net::Http1Parser::for_request(limits) : net::Http1Parser::for_response(limits, false);
        std::string waiting;
        for (std::size_t at = 0; at < text.size() && !parser->done(); at += piece) {
            waiting += text.substr(at, piece);
            const auto taken = parser->feed(waiting);
            if (!taken) break;
            expect(*taken <= waiting.size());
            waiting.erase(0, *taken);
        }
        static_cast<void>(parser->feed_end());
        expect(parser->body.size() <= 4000);
    }
}

/// A name that is asked of the cluster's zone.
FUZZ_TARGET(dns_zone_fuzz) {
    using namespace dns;
    SeededRandom random(7);
    Zone zone({.server_address = IpAddress::parse("10.96.0.10").value(), .own_prefixes = {IpPrefix::parse("10.244.0.0/16").value()}},
              random);
    zone.add_namespace("default");
    zone.set_service({.namespace_ = "default",
                      .name = "a",
                      .cluster_ips = {IpAddress::parse("10.96.0.1").value()},
                      .external_name = {},
                      .ports = {{"http", "tcp", 80}}});
    zone.set_service({.namespace_ = "default", .name = "b", .cluster_ips = {}, .external_name = {}, .ports = {{"http", "tcp", 80}}});
    zone.set_slice({.namespace_ = "default",
                    .name = "b-1",
                    .service = "b",
                    .ports = {{"http", "tcp", 80}},
                    .endpoints = {{.addresses = {IpAddress::parse("10.244.0.5").value()}, .hostname = "h"}}});
    const auto name = Name::parse(text);
    if (!name) return;
    for (const std::uint16_t type : {1, 2, 6, 12, 16, 28, 33, 255}) static_cast<void>(zone.answer(*name, static_cast<Type>(type), 1));
}

/// The flag --nodes of `porthole up`.
FUZZ_TARGET(nodes_flag_fuzz) {
    local_cluster::ClusterOptions options;
    if (local_cluster::parse_nodes(std::string(text), options)) {
        expect(options.linux_nodes >= 0);
        local_cluster::ClusterOptions again;
        expect(local_cluster::parse_nodes(local_cluster::nodes_text(options), again) && again.windows_nodes == options.windows_nodes);
        static_cast<void>(local_cluster::check_networks(options));
    }
    static_cast<void>(local_cluster::address_in(std::string(text), 2));
}

/// The servers that a node knows.
FUZZ_TARGET(server_list_fuzz) {
    const auto servers = node_join::parse_server_list(text);
    expect(servers.size() <= 64);
    for (const auto& server : servers) expect(server.url.starts_with("https://") && server.url.find_first_of(" \n") == server.url.npos);
    expect(node_join::parse_server_list(node_join::to_text(servers)) == servers);
}

/// A volume in a node's status, as the kubelet and the controller name it.
FUZZ_TARGET(volume_name_fuzz) {
    const auto name = objects::parse_unique_volume_name(text);
    if (name) expect(objects::unique_volume_name(name->driver, name->handle) == text);
}
