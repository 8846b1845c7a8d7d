#include "node_join/api_balancer.h"

#include <algorithm>

#include "base/result.h"
#include "client/http_transport.h"
#include "client/kubeconfig.h"
#include "net/http/proxy.h"
#include "runtime/asio_loop.h"

namespace porthole::node_join {

using namespace std::chrono_literals;
using api::discovery::v1::EndpointSlice;

namespace {

constexpr std::size_t MostConnections = 256;
constexpr Duration PortPeriod = 500ms;  ///< between two attempts to take the port

client::InformerOptions slices_of_servers() {
    return {.namespace_ = "default", .label_selector = "kubernetes.io/service-name=kubernetes", .field_selector = ""};
}

}  // namespace

ServerDirectory::ServerDirectory(const std::vector<KnownServer>& remembered) {
    for (const KnownServer& server : remembered) {
        listed_.push_back(server.url);
        if (server.given) given_.push_back(server.url);
    }
}

void ServerDirectory::learn(const std::vector<std::string>& urls) {
    if (!urls.empty()) listed_ = urls;
}

std::vector<KnownServer> ServerDirectory::with_states(const std::vector<net::BalancedServer>& servers) const {
    std::vector<KnownServer> known;
    for (const net::BalancedServer& server : servers) {
        std::string state = net::to_text(server.health);
        if (!server.listed) state += server.reserve ? ", reserve" : ", drained";
        if (server.in_use) state += ", in use";
        known.push_back({server.name, std::ranges::find(given_, server.name) != given_.end(), std::move(state)});
    }
    std::ranges::sort(known, {}, [](const KnownServer& server) { return std::pair(!server.given, server.url); });
    return known;
}

Result<std::unique_ptr<ApiBalancer>> ApiBalancer::of_node(Context context) {
    if (!context.connection.own_folder()) return nullptr;
    const std::string folder = context.connection.own_folder()->string();
    const auto url = client::parse_server_url(context.connection.config().server);
    if (!url || url->host != BalancerAddress) return nullptr;
    auto remembered = read_server_list(context.files, folder);
    if (remembered && remembered->empty()) remembered = Error(Reason::NotFound, server_list_path(folder) + " names no server");
    if (!remembered) {
        if (url->port != BalancerPort) return nullptr;  // a server on this machine
        return std::move(remembered)
            .error()
            .with_context("the kubeconfig's server is this node's own balancer, whose servers are not known");
    }
    return std::unique_ptr<ApiBalancer>(new ApiBalancer(std::move(context), folder, url->port, *std::move(remembered)));
}

ApiBalancer::ApiBalancer(Context context, std::string folder, std::uint16_t port, std::vector<KnownServer> remembered)
    : context_(std::move(context)),
      folder_(std::move(folder)),
      port_(port),
      client_(context_.connection.transport()),
      directory_(remembered),
      probes_(
          context_.loop,
          [this](const client::ClientConfig& config) { return client::make_http_transport(context_.loop, config, "porthole-balancer"); }),
      balancer_({context_.loop, context_.random, [this](std::string url) { return dial(std::move(url)); },
                 [this](std::string url) { return probe(std::move(url)); }, context_.log}),
      acceptor_(
          context_.loop, MostConnections, [this](net::Accepted accepted) { return balancer_.serve(std::move(accepted.stream)); },
          context_.log),
      informers_(client::InformerContext{context_.loop, client_, context_.random, context_.log}),
      scope_(context_.loop) {}

ApiBalancer::~ApiBalancer() = default;

void ApiBalancer::start() {
    const auto listening = listen();
    if (listening) return;
    context_.log.info("another program already balances the connections to the API servers", {{"why", listening.error().message}});
    scope_.spawn(wait_for_port());
}

Task<> ApiBalancer::wait_for_port() {
    do {
        CO_TRY_VOID(co_await context_.loop.sleep(PortPeriod));
    } while (!listen());
    co_return {};
}

/// The list is read again: the program that had the port may have learned of servers.
Result<void> ApiBalancer::listen() {
    TRY(auto listener, net::Listener::tcp(context_.loop, BalancerAddress, port_));
    if (const auto remembered = read_server_list(context_.files, folder_); remembered && !remembered->empty())
        directory_ = ServerDirectory(*remembered);
    balancer_.set_servers(directory_.listed(), directory_.given());
    balancer_.on_change([this] {
        probes_.keep_only(balancer_.servers());
        remember();
    });
    acceptor_.add(std::move(listener));
    informers_.get<EndpointSlice>(slices_of_servers()).on_change([this](const EndpointSlice&) { learn(); });
    informers_.start();
    context_.log.info("balances the connections to the API servers", {{"port", port_}, {"servers", directory_.listed().size()}});
    return {};
}

void ApiBalancer::learn() {
    const auto urls = servers_of(informers_.get<EndpointSlice>(slices_of_servers()).list());
    if (urls.empty() || urls == directory_.listed()) return;
    directory_.learn(urls);
    context_.log.info("the cluster's API servers", {{"count", urls.size()}});
    balancer_.set_servers(directory_.listed(), directory_.given());
}

/// A list that cannot be written is of no harm until the next start.
void ApiBalancer::remember() {
    std::string text = to_text(directory_.with_states(balancer_.servers()));
    if (text == written_) return;
    const auto written = context_.files.replace(server_list_path(folder_), text, 0644);
    if (!written) context_.log.warn("the list of API servers is not kept", {{"error", written.error().message}});
    written_ = std::move(text);
}

Task<std::unique_ptr<net::ByteStream>> ApiBalancer::dial(std::string text) {
    CO_TRY(const client::ServerUrl url, client::parse_server_url(text));
    net::Endpoint endpoint{url.host, url.port, ""};
    auto proxy = net::ProxySettings::of_environment().find(true, url.host, url.port);
    if (proxy) co_return co_await net::connect_through(context_.loop, *std::move(proxy), std::move(endpoint));
    co_return co_await net::connect_socket(context_.loop, std::move(endpoint));
}

Task<net::ServerHealth> ApiBalancer::probe(std::string url) {
    const client::ClientConfig& trust = context_.connection.config();
    return probes_.ask({.server = std::move(url), .ca_pem = trust.ca_pem, .server_name = trust.server_name});
}

Task<> ApiBalancer::close() {
    CO_TRY_VOID(co_await scope_.close());
    CO_TRY_VOID(co_await informers_.close());
    CO_TRY_VOID(co_await acceptor_.close());
    co_return co_await balancer_.close();
}

}  // namespace porthole::node_join
