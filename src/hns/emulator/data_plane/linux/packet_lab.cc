#include "hns/emulator/data_plane/linux/packet_lab.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "hns/emulator/data_plane/linux/network_namespace.h"
#include "runtime/processes/process.h"
#include "runtime/run_task.h"

namespace porthole::hns::emulator {

namespace {

constexpr std::uint16_t ServerPort = 8080;

sockaddr_in address_of(const std::string& text, std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    inet_pton(AF_INET, text.c_str(), &address.sin_addr);
    return address;
}

std::string answer_from(const std::string& path, const std::string& address, std::uint16_t port, Transport transport, int patience_ms) {
    std::string answer = "not run";
    run_in(path, [&] {
        const int socket = ::socket(AF_INET, transport == Transport::Tcp ? SOCK_STREAM : SOCK_DGRAM, 0);
        const timeval limit{.tv_sec = patience_ms / 1000, .tv_usec = patience_ms % 1000 * 1000};
        setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
        setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
        const sockaddr_in to = address_of(address, port);
        char buffer[64];
        ssize_t count = -1;
        if (connect(socket, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0) {
            if (transport == Transport::Tcp || send(socket, "x", 1, 0) == 1) count = recv(socket, buffer, sizeof buffer, 0);
        }
        answer = count >= 0                                ? std::string(buffer, static_cast<std::size_t>(count))
                 : errno == EAGAIN || errno == EINPROGRESS ? "timeout"
                                                           : std::strerror(errno);
        close(socket);
    });
    return answer;
}

std::string client_text(const sockaddr_in& address) {
    char buffer[INET_ADDRSTRLEN];
    return inet_ntop(AF_INET, &address.sin_addr, buffer, sizeof buffer);
}

}  // namespace

void run_in(const std::string& path, const std::function<void()>& function) {
    std::thread([&] {
        const int target = open(path.c_str(), O_RDONLY | O_CLOEXEC);
        EXPECT_GE(target, 0) << path;
        EXPECT_EQ(setns(target, CLONE_NEWNET), 0) << path;
        close(target);
        function();
    }).join();
}

std::string shell(const std::string& path, const std::string& commands) {
    std::string text;
    run_in(path, [&] {
        FILE* pipe = popen(("set -e; " + commands).c_str(), "r");
        char buffer[4096];
        while (const std::size_t count = fread(buffer, 1, sizeof buffer, pipe)) text.append(buffer, count);
        EXPECT_EQ(pclose(pipe), 0) << commands;
    });
    return text;
}

Servers::Servers() : thread_([this] { serve(); }) {}

Servers::~Servers() {
    ending_ = true;
    thread_.join();
    for (const Server& server : servers_) close(server.socket);
}

void Servers::add(const std::string& path, const std::string& name, std::uint16_t port, const std::string& at) {
    for (const bool is_stream : {true, false}) {
        int socket = -1;
        run_in(path, [&] {
            socket = ::socket(AF_INET, (is_stream ? SOCK_STREAM : SOCK_DGRAM) | SOCK_CLOEXEC, 0);
            const sockaddr_in address = address_of(at, port);
            EXPECT_EQ(bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0) << at << ":" << port;
            if (is_stream) listen(socket, 64);
        });
        std::lock_guard lock(mutex_);
        servers_.push_back({socket, is_stream, name});
    }
}

void Servers::serve() {
    while (!ending_) {
        std::vector<Server> servers;
        {
            std::lock_guard lock(mutex_);
            servers = servers_;
        }
        std::vector<pollfd> waiting;
        for (const Server& server : servers) waiting.push_back({.fd = server.socket, .events = POLLIN});
        constexpr int LookAgainMs = 20;
        if (poll(waiting.data(), waiting.size(), LookAgainMs) <= 0) continue;
        for (std::size_t i = 0; i < waiting.size(); ++i) {
            if (!(waiting[i].revents & POLLIN)) continue;
            sockaddr_in peer{};
            socklen_t size = sizeof peer;
            char buffer[64];
            if (!servers[i].is_stream) {
                if (recvfrom(waiting[i].fd, buffer, sizeof buffer, 0, reinterpret_cast<sockaddr*>(&peer), &size) < 0) continue;
                const std::string answer = servers[i].name + " " + client_text(peer);
                sendto(waiting[i].fd, answer.data(), answer.size(), 0, reinterpret_cast<sockaddr*>(&peer), size);
                continue;
            }
            const int connection = accept(waiting[i].fd, reinterpret_cast<sockaddr*>(&peer), &size);
            if (connection < 0) continue;
            const std::string answer = servers[i].name + " " + client_text(peer);
            send(connection, answer.data(), answer.size(), MSG_NOSIGNAL);
            close(connection);
        }
    }
}

std::string ask(const std::string& path, const std::string& address, std::uint16_t port, Transport transport) {
    return answer_from(path, address, port, transport, 5000);
}
std::string ask_in_vain(const std::string& path, const std::string& address, std::uint16_t port, Transport transport) {
    return answer_from(path, address, port, transport, 400);
}

bool ping(const std::string& path, const std::string& address) {
    bool answered = false;
    run_in(path, [&] { answered = std::system(("ping -c1 -W1 -q " + address + " >/dev/null 2>&1").c_str()) == 0; });
    return answered;
}

LabHost::LabHost(const std::filesystem::path& folder, const std::string& name)
    : path_(folder / name), pool_(make_thread_pool(2)), processes_(make_process_runner(*pool_)) {
    options_ = {.namespace_folder = folder / (name + "-pods"), .host_namespace = path_};
    std::filesystem::create_directories(options_.namespace_folder);
    start_anew();
}

LabHost::~LabHost() {
    for (const auto& entry : std::filesystem::directory_iterator(options_.namespace_folder)) (void)remove_network_namespace(entry.path());
}

void LabHost::start_anew() {
    data_plane_ = make_linux_data_plane(*processes_, *pool_, Logger(make_stderr_sink(LogLevel::Warn), "data plane"), options_);
}

template <class T>
Result<T> LabHost::finish(std::function<Task<T>()> work) {
    return run_task(loop_, work());
}

void LabHost::put(hcn::HostComputeNetwork document, const std::string& adapter) {
    const std::string id = document.id;
    const Network* old = find(next_.networks, id);
    const bool external =
        document.type != hcn::NetworkMode::Nat && document.type != hcn::NetworkMode::Internal && document.type != hcn::NetworkMode::Private;
    next_.networks.put(id, std::make_shared<Network>(Network{.document = std::move(document),
                                                             .number = old ? old->number : ++numbers_,
                                                             .adapter = external ? adapter : "",
                                                             .ready = true,
                                                             .management_address = external ? address : ""}));
    changes_.networks.push_back(id);
}

void LabHost::put(hcn::HostComputeEndpoint document, const std::string& compartment) {
    const std::string id = document.id;
    const Endpoint* old = find(next_.endpoints, id);
    const bool on_host = compartment == "host";
    if (!on_host && !compartment.empty() && !find(next_.namespaces, compartment)) {
        hcn::HostComputeNamespace made;
        made.id = compartment;
        made.type = hcn::NamespaceType::Host;
        next_.namespaces.put(compartment, std::make_shared<Namespace>(Namespace{made}));
        changes_.namespaces.push_back(compartment);
    }
    if (!on_host) document.host_compute_namespace = compartment;
    next_.endpoints.put(id, std::make_shared<Endpoint>(
                                Endpoint{.document = std::move(document), .number = old ? old->number : ++numbers_, .on_host = on_host}));
    changes_.endpoints.push_back(id);
}

void LabHost::put(hcn::HostComputeLoadBalancer document) {
    const std::string id = document.id;
    next_.load_balancers.put(id, std::make_shared<LoadBalancer>(LoadBalancer{.document = std::move(document), .number = ++numbers_}));
    changes_.load_balancers.push_back(id);
}

void LabHost::remove_endpoint(const std::string& id) {
    const std::string compartment = next_.endpoints.at(id)->document.host_compute_namespace;
    next_.endpoints.erase(id);
    next_.namespaces.erase(compartment);
    changes_.endpoints.push_back(id);
    changes_.namespaces.push_back(compartment);
}

void LabHost::remove_load_balancer(const std::string& id) {
    next_.load_balancers.erase(id);
    changes_.load_balancers.push_back(id);
}

void LabHost::remove_everything() {
    for (const auto& [id, object] : next_.networks) changes_.networks.push_back(id);
    for (const auto& [id, object] : next_.endpoints) changes_.endpoints.push_back(id);
    for (const auto& [id, object] : next_.namespaces) changes_.namespaces.push_back(id);
    for (const auto& [id, object] : next_.load_balancers) changes_.load_balancers.push_back(id);
    next_ = {};
}

Result<void> LabHost::try_apply() {
    auto done = finish<void>([this] { return data_plane_->apply(model_, next_, changes_); });
    if (done)
        model_ = next_;
    else
        next_ = model_;
    changes_ = {};
    return done;
}

void LabHost::apply() {
    const auto done = try_apply();
    ASSERT_TRUE(done.has_value()) << done.error().message;
}

void LabHost::restore() {
    const auto done = finish<void>([this] { return data_plane_->restore(model_); });
    ASSERT_TRUE(done.has_value()) << done.error().message;
}

Counters LabHost::counters(const std::string& endpoint) {
    return finish<Counters>([&] { return data_plane_->counters(endpoint); }).value();
}
std::vector<Adapter> LabHost::adapters() {
    return finish<std::vector<Adapter>>([&] { return data_plane_->adapters(); }).value();
}
void LabHost::lose_rules() {
    EXPECT_TRUE(finish<void>([&] { return data_plane_->lose_rules(); }).has_value());
}

PacketLab::PacketLab() {
    std::string pattern = std::filesystem::temp_directory_path() / "hns-lab-XXXXXX";
    folder = mkdtemp(pattern.data());
    router = folder / "router";
    usable_ = geteuid() == 0 && ensure_network_namespace(router).has_value();
    if (!usable_) return;
    machines_.push_back(router);
    shell(
        router,
        "sysctl -qw net.ipv4.ip_forward=1 net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.all.send_redirects=0;"
        "ip link add wire type bridge; ip link set wire up; sysctl -qw net.ipv4.conf.wire.send_redirects=0 net.ipv4.conf.wire.rp_filter=0;"
        "ip addr add 192.168.50.1/24 dev wire; ip addr add 198.51.100.7/32 dev lo; ip route add unreachable 10.96.0.0/12");
    add_machine("a", "192.168.50.11", "Ethernet");
    add_machine("b", "192.168.50.12", "Ethernet");
    a = std::make_unique<LabHost>(folder, "a");
    b = std::make_unique<LabHost>(folder, "b");
    a->address = "192.168.50.11";
    b->address = "192.168.50.12";
    a->restore();
    b->restore();
    servers.add(router, "router", ServerPort, "192.168.50.1");
    servers.add(router, "far", ServerPort, "198.51.100.7");
}

PacketLab::~PacketLab() {
    a.reset();
    b.reset();
    for (const std::string& machine : machines_) (void)remove_network_namespace(machine);
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
}

std::string PacketLab::add_machine(const std::string& name, const std::string& address, const std::string& link) {
    const std::string path = folder / name;
    EXPECT_TRUE(ensure_network_namespace(path).has_value());
    machines_.push_back(path);
    shell(router, fmt::format("ip link add w-{0} type veth peer name {1} netns {2}; ip link set w-{0} master wire up", name, link, path));
    shell(path,
          fmt::format("ip addr add {}/24 dev {} brd +; ip link set {} up; ip route add default via 192.168.50.1", address, link, link));
    return path;
}

hcn::HostComputeNetwork network(const std::string& id, const std::string& type, const std::string& subnet, const std::string& gateway,
                                std::vector<hcn::Policy> policies) {
    hcn::HostComputeNetwork document;
    document.id = id;
    document.type = type;
    document.policies = std::move(policies);
    hcn::Subnet range;
    range.ip_address_prefix = subnet;
    range.routes.push_back({.next_hop = gateway, .destination_prefix = "0.0.0.0/0"});
    document.ipams.push_back({.subnets = {range}});
    return document;
}

hcn::HostComputeEndpoint endpoint(const std::string& id, const std::string& network, const std::string& address, const std::string& gateway,
                                  std::vector<hcn::Policy> policies) {
    hcn::HostComputeEndpoint document;
    document.id = id;
    document.host_compute_network = network;
    document.policies = std::move(policies);
    document.ip_configurations.push_back({.ip_address = address, .prefix_length = 24});
    if (!gateway.empty()) document.routes.push_back({.next_hop = gateway, .destination_prefix = "0.0.0.0/0"});
    unsigned bytes[4];
    sscanf(address.c_str(), "%u.%u.%u.%u", &bytes[0], &bytes[1], &bytes[2], &bytes[3]);
    document.mac_address = fmt::format("0E-2A-{:02X}-{:02X}-{:02X}-{:02X}", bytes[0], bytes[1], bytes[2], bytes[3]);
    return document;
}

hcn::HostComputeEndpoint remote_endpoint(const std::string& id, const std::string& network, const std::string& address) {
    auto document = endpoint(id, network, address, "");
    document.flags = EndpointFlags::RemoteEndpoint;
    return document;
}

hcn::HostComputeLoadBalancer load_balancer(const std::string& id, std::vector<std::string> endpoints, const std::string& vip,
                                           std::uint16_t port, std::uint32_t flags, std::uint32_t mapping_flags,
                                           std::uint32_t distribution) {
    hcn::HostComputeLoadBalancer document;
    document.id = id;
    document.host_compute_endpoints = std::move(endpoints);
    if (!vip.empty()) document.frontend_vips.push_back(vip);
    document.flags = flags;
    for (const std::uint32_t protocol : {Protocol::Tcp, Protocol::Udp}) {
        document.port_mappings.push_back({.protocol = protocol,
                                          .internal_port = ServerPort,
                                          .external_port = port,
                                          .distribution_type = distribution,
                                          .flags = mapping_flags});
    }
    return document;
}

hcn::Policy outbound_nat(std::vector<std::string> exceptions) {
    hcn::OutboundNatSettings settings;
    settings.exceptions = std::move(exceptions);
    return make_policy("OutBoundNAT", settings);
}
hcn::Policy loopback_nat(const std::string& own_address) {
    hcn::OutboundNatSettings settings;
    settings.destinations = {own_address};
    return make_policy("OutBoundNAT", settings);
}
hcn::Policy encap_route(const std::string& prefix) {
    hcn::SdnRoutePolicySettings settings;
    settings.destination_prefix = prefix;
    settings.need_encap = true;
    return make_policy("SDNRoute", settings);
}
hcn::Policy host_port(std::uint16_t outside, std::uint16_t inside) {
    hcn::PortMappingSettings settings;
    settings.protocol = Protocol::Tcp;
    settings.external_port = outside;
    settings.internal_port = inside;
    return make_policy("PortMapping", settings);
}
hcn::Policy acl(const std::string& action, const std::string& direction, std::uint32_t priority, const std::string& remote_addresses,
                const std::string& local_ports) {
    hcn::AclSettings settings;
    settings.action = action;
    settings.direction = direction;
    settings.rule_type = hcn::RuleType::Switch;
    settings.priority = priority;
    settings.remote_addresses = remote_addresses;
    settings.local_ports = local_ports;
    if (!local_ports.empty()) settings.protocols = "6";
    return make_policy("ACL", settings);
}

}  // namespace porthole::hns::emulator
