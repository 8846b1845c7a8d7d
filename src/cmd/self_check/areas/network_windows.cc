#include <algorithm>

#include "cmd/self_check/machine.h"
#include "cni/flannel/host_routes.h"
#include "net/datagram.h"
#include "net/interface_address.h"
#include "net/socket.h"
#include "node_join/windows_node/firewall.h"
#include "runtime/first_of.h"

namespace porthole::cmd::self_check {
namespace {

using cni::flannel::HostRoute;
using schema::Value;

constexpr const char* Loopback = "127.0.0.1";

Result<Value> adapters(Machine&) {
    bool found = true, measured = true;
    for (const net::Interface& interface : net::interfaces()) {
        for (const IpAddress& address : interface.addresses) {
            const auto facts = net::interface_with(address);
            found = found && facts;
            measured = measured && facts && facts->prefix_length > 0 && facts->mtu >= 576;
        }
    }
    return Value::object({{"foundByAddress", found}, {"measured", measured}});
}

Result<Value> port_taken(Machine& machine) {
    TRY(auto first, net::Listener::tcp(machine.world.loop, Loopback, 0));
    const std::uint16_t port = first->port();
    const auto second = net::Listener::tcp(machine.world.loop, Loopback, port);
    first.reset();
    const auto client = machine.world.run(net::connect_socket(machine.world.loop, {.host = Loopback, .port = port}));
    const auto again = net::Listener::tcp(machine.world.loop, Loopback, port);
    return Value::object({{"taken", !second && second.error().reason == Reason::AlreadyExists},
                          {"refused", !client && client.error().message.contains("refused")},
                          {"freeAgain", again.has_value()}});
}

/// A datagram to a port without a socket comes back as an error, and a server of datagrams goes on after one.
Result<Value> datagram_rejected(Machine& machine) {
    AsioLoop& loop = machine.world.loop;
    TRY(const auto address, IpAddress::parse(Loopback));
    std::uint16_t port = 0;
    {
        TRY(const auto closed, net::DatagramSocket::bind(loop, address, 0));
        port = closed->port();
    }
    TRY(const auto socket, net::DatagramSocket::connect(loop, address, port));
    TRY_VOID(socket->send("x"));
    const auto receive = [](net::DatagramSocket* from) -> Task<> {
        CO_TRY_VOID(co_await from->receive());
        co_return {};
    };
    const auto rejected = machine.world.run(first_of(receive(socket.get()), loop.sleep(std::chrono::seconds(3))));
    return Value::object({{"rejected", !rejected && rejected.error().reason == Reason::Unavailable}});
}

/// A route of a node to the pods of another, which the kernel has and lists.
Result<Value> route(Machine& machine) {
    constexpr std::uint32_t Metric = 4321;
    for (const net::Interface& interface : net::interfaces()) {
        for (const IpAddress& address : interface.addresses) {
            const auto facts = address.is_v4() ? net::interface_with(address) : std::nullopt;
            if (!facts || facts->prefix_length > 30) continue;
            const auto routes = cni::flannel::make_system_host_routes(address, Metric);
            if (!routes) return Value::object({{"settable", false}});
            const HostRoute wanted{IpPrefix(IpAddress::v4(0xC6336400), 24), IpAddress::v4(address.v4_number() ^ 1)};
            TRY_VOID(machine.world.run(routes->add(wanted)));
            const auto listed = machine.world.run(routes->own());
            TRY_VOID(machine.world.run(routes->remove(wanted)));
            TRY(const auto left, machine.world.run(routes->own()));
            return Value::object({{"settable", true}, {"listed", listed && *listed == std::vector{wanted}}, {"left", !left.empty()}});
        }
    }
    return Error(Reason::NotFound, "no adapter has an IPv4 address");
}

/// Of a port that nothing listens at.
Result<Value> firewall(Machine& machine) {
    constexpr const char* Name = "porthole-self-check";
    const auto kept =
        machine.world.run(node_join::ensure_firewall_rule(*machine.world.processes, {.name = Name, .protocol = "TCP", .port = 1}));
    TRY_VOID(machine.world.run(node_join::remove_firewall_rule(*machine.world.processes, Name)));
    return Value::object({{"kept", kept.has_value()}});
}

}  // namespace

Area area_network() {
    return {.probes = {{"adapters", adapters},
                       {"port-taken", port_taken},
                       {"datagram-rejected", datagram_rejected},
                       {"route", route},
                       {"firewall", firewall}},
            .parts = {}};
}

}  // namespace porthole::cmd::self_check
