#include <algorithm>
#include <cstdio>

#include "base/flag_set.h"
#include "base/strings.h"
#include "cmd/program/output_flag.h"
#include "cmd/program/runtime_setup.h"
#include "hns/client.h"
#include "hns/dll/load_hns.h"
#include "hns/guid.h"
#include "schema/json/json.h"

namespace porthole::cmd {
namespace {

namespace hcn = hns::hcn;
using schema::Value;

/// Rows under headings, each column as wide as its widest cell.
class Table {
public:
    explicit Table(std::vector<std::string> headings) { rows_.push_back(std::move(headings)); }
    void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
    void print(const char* title) const {
        std::printf("%s: %zu\n", title, rows_.size() - 1);
        if (rows_.size() == 1) return;
        std::vector<std::size_t> widths(rows_.front().size());
        for (const auto& row : rows_) {
            for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
        }
        for (const auto& row : rows_) {
            std::string line = "  ";
            for (std::size_t i = 0; i < row.size(); ++i) line += row[i] + std::string(widths[i] - row[i].size() + 2, ' ');
            line.erase(line.find_last_not_of(' ') + 1);
            std::printf("%s\n", line.c_str());
        }
    }

private:
    std::vector<std::vector<std::string>> rows_;
};

/// Everything that the host network service keeps.
struct Inventory {
    std::vector<hcn::HostComputeNetwork> networks;
    std::vector<hcn::HostComputeEndpoint> endpoints;
    std::vector<hcn::HostComputeNamespace> namespaces;
    std::vector<hcn::HostComputeLoadBalancer> load_balancers;
    std::vector<hcn::HostComputeRoute> routes;

    std::string network_name(const std::string& id) const {
        const auto found = std::ranges::find(networks, id, &hcn::HostComputeNetwork::id);
        return found == networks.end() ? id : found->name;
    }
    std::string address_of(const std::string& endpoint_id) const {
        const auto same = [&](const auto& endpoint) { return hns::same_guid(endpoint.id, endpoint_id); };
        const auto found = std::ranges::find_if(endpoints, same);
        return found == endpoints.end() || found->ip_configurations.empty() ? endpoint_id : found->ip_configurations[0].ip_address;
    }
};

Task<Inventory> take_inventory(hns::Hns& service, std::string name) {
    hns::Client client(service);
    Inventory all;
    CO_TRY(all.networks, co_await client.list<hcn::HostComputeNetwork>());
    CO_TRY(all.endpoints, co_await client.list<hcn::HostComputeEndpoint>());
    CO_TRY(all.namespaces, co_await client.list<hcn::HostComputeNamespace>());
    CO_TRY(all.load_balancers, co_await client.list<hcn::HostComputeLoadBalancer>());
    CO_TRY(all.routes, co_await client.list<hcn::HostComputeRoute>());
    if (name.empty()) co_return all;
    std::erase_if(all.networks, [&](const auto& network) { return network.name != name; });
    std::erase_if(all.endpoints, [&](const auto& endpoint) {
        return std::ranges::none_of(all.networks, [&](const auto& network) { return network.id == endpoint.host_compute_network; });
    });
    co_return all;
}

void print_networks(const Inventory& all) {
    Table table({"NAME", "TYPE", "RANGES", "ID"});
    for (const auto& network : all.networks) {
        std::vector<std::string> ranges;
        for (const auto& ipam : network.ipams) {
            for (const auto& subnet : ipam.subnets) ranges.push_back(subnet.ip_address_prefix);
        }
        table.add({network.name, std::string(hns::type_of(network)), join(ranges, ","), network.id});
    }
    table.print("Networks");
}

void print_endpoints(const Inventory& all) {
    Table table({"NAME", "NETWORK", "ADDRESSES", "MAC", "WHERE", "ID"});
    for (const auto& endpoint : all.endpoints) {
        std::vector<std::string> addresses;
        for (const auto& config : endpoint.ip_configurations) addresses.push_back(config.ip_address);
        table.add({endpoint.name, all.network_name(endpoint.host_compute_network), join(addresses, ","), endpoint.mac_address,
                   hns::is_remote(endpoint)                  ? "remote"
                   : endpoint.host_compute_namespace.empty() ? "-"
                                                             : endpoint.host_compute_namespace,
                   endpoint.id});
    }
    table.print("Endpoints");
}

void print_namespaces(const Inventory& all) {
    Table table({"COMPARTMENT", "TYPE", "ENDPOINTS", "CONTAINERS", "ID"});
    for (const auto& space : all.namespaces) {
        std::vector<std::string> addresses;
        std::size_t containers = 0;
        for (const auto& resource : space.resources) {
            if (resource.type == hcn::NamespaceResourceType::Endpoint) {
                addresses.push_back(all.address_of(resource.data.id));
            } else {
                ++containers;
            }
        }
        table.add({std::to_string(space.namespace_id), space.type, join(addresses, ","), std::to_string(containers), space.id});
    }
    table.print("Namespaces");
}

void print_load_balancers(const Inventory& all) {
    Table table({"FRONTEND", "PORTS", "BACKENDS", "DSR", "ID"});
    for (const auto& balancer : all.load_balancers) {
        std::vector<std::string> ports, backends;
        for (const auto& mapping : balancer.port_mappings) {
            const char* protocol = mapping.protocol == hns::Protocol::Udp ? "/UDP" : mapping.protocol == hns::Protocol::Tcp ? "/TCP" : "";
            ports.push_back(std::to_string(mapping.external_port) + ">" + std::to_string(mapping.internal_port) + protocol);
        }
        for (const std::string& id : balancer.host_compute_endpoints) backends.push_back(all.address_of(id));
        const bool direct = (balancer.flags & hns::LoadBalancerFlags::EnableDirectServerReturn) != 0;
        table.add({balancer.frontend_vips.empty() ? "node port" : join(balancer.frontend_vips, ","), join(ports, ","), join(backends, ","),
                   direct ? "yes" : "no", balancer.id});
    }
    table.print("Load balancers");
}

void print_routes(const Inventory& all) {
    Table table({"DESTINATION", "NEXT HOP", "OWNER", "ID"});
    for (const auto& route : all.routes) {
        for (const auto& setting : route.setting) {
            table.add({setting.destination_prefix, setting.next_hop.empty() ? "-" : setting.next_hop, route.owner, route.id});
        }
    }
    table.print("Routes");
}

template <class T>
Value documents(const std::vector<T>& objects) {
    Value list = Value::array();
    for (const T& object : objects) {
        if (auto document = schema::parse_json(hns::write_document(object))) list.as_array().push_back(*std::move(document));
    }
    return list;
}

Value to_value(const Inventory& all) {
    return Value::object({{"networks", documents(all.networks)},
                          {"endpoints", documents(all.endpoints)},
                          {"namespaces", documents(all.namespaces)},
                          {"loadBalancers", documents(all.load_balancers)},
                          {"routes", documents(all.routes)}});
}

}  // namespace

int run_hns(std::vector<std::string> arguments) {
    std::string output = "text", name;
    FlagSet flags;
    flags.add("output", output, "text, or json or yaml for the whole documents");
    flags.add("name", name, "only the network of this name and its endpoints");
    const bool list = !arguments.empty() && arguments.front() == "list";
    const bool help = std::ranges::any_of(arguments, [](const std::string& word) { return word == "--help" || word == "-h"; });
    if (!list || help) {
        std::fprintf(help ? stdout : stderr,
                     "Usage: hns list [OPTIONS]\n\nList the objects of this host's network service: networks, endpoints, namespaces, load "
                     "balancers and routes.\n\n%s",
                     flags.help().c_str());
        return help ? 0 : 2;
    }
    arguments.erase(arguments.begin());
    for (std::string& word : arguments) {
        if (word.starts_with("-o")) word = word == "-o" ? "--output" : "--output=" + word.substr(word.starts_with("-o=") ? 3 : 2);
    }
    if (const auto parsed = flags.parse(arguments); !parsed) return fail(parsed.error().message);
    if (output != "text" && output != "json" && output != "yaml") return fail("--output must be text, json or yaml");
    RealWorld world;
    const auto own = hns::own_hns(world.loop, *world.pool);
    const auto all = world.run(take_inventory(*own, name));
    if (!all) return fail(all.error().message);
    if (output != "text") {
        std::fputs(to_document(to_value(*all), output).c_str(), stdout);
        return 0;
    }
    print_networks(*all);
    print_endpoints(*all);
    print_namespaces(*all);
    print_load_balancers(*all);
    print_routes(*all);
    return 0;
}

}  // namespace porthole::cmd
