#include "node_join/server_list.h"

#include <algorithm>

#include "base/result.h"
#include "base/values/ip.h"
#include "client/kubeconfig.h"

namespace porthole::node_join {
namespace {

constexpr std::size_t MostServers = 64;

/// The text up to `end`, which is taken off with the separator.
std::string_view take(std::string_view& text, char end) {
    const std::size_t at = std::min(text.find(end), text.size());
    const std::string_view taken = text.substr(0, at);
    text.remove_prefix(std::min(at + 1, text.size()));
    return taken;
}

/// "" for an address that must not be connected to.
std::string url_of(const std::string& text, std::int64_t port) {
    const auto address = IpAddress::parse(text);
    if (!address || !address->is_global_unicast() || port <= 0 || port > 65535) return "";
    return "https://" + client::ServerUrl{.host = text, .port = static_cast<std::uint16_t>(port)}.authority();
}

}  // namespace

std::string server_list_path(const std::string& folder) { return join_path(folder, "servers"); }

std::string to_text(const std::vector<KnownServer>& servers) {
    std::string text;
    for (const KnownServer& server : servers) {
        text += std::string(server.given ? "given " : "learned ") + server.url;
        if (!server.state.empty()) text += " " + server.state;
        text += "\n";
    }
    return text;
}

std::vector<KnownServer> parse_server_list(std::string_view text) {
    std::vector<KnownServer> servers;
    while (!text.empty() && servers.size() < MostServers) {
        std::string_view line = take(text, '\n');
        const std::string_view origin = take(line, ' ');
        KnownServer server{.url = std::string(take(line, ' ')), .given = origin == "given", .state = std::string(line)};
        const auto url = client::parse_server_url(server.url);
        if ((!server.given && origin != "learned") || !url || !url->tls || !url->prefix.empty()) continue;
        if (std::ranges::find(servers, server.url, &KnownServer::url) == servers.end()) servers.push_back(std::move(server));
    }
    return servers;
}

Result<std::vector<KnownServer>> read_server_list(FileSystem& files, const std::string& folder) {
    TRY(const std::string text, files.read(server_list_path(folder)));
    return parse_server_list(text);
}

std::string server_behind(FileSystem& files, const std::string& folder, const std::string& url) {
    const auto parsed = client::parse_server_url(url);
    if (!parsed || parsed->host != BalancerAddress) return url;
    const auto servers = read_server_list(files, folder);
    if (!servers || servers->empty()) return url;
    const auto used = std::ranges::find_if(*servers, [](const KnownServer& server) { return server.state.ends_with("in use"); });
    return used == servers->end() ? servers->front().url : used->url;
}

std::vector<std::string> servers_of(const std::vector<std::shared_ptr<const api::discovery::v1::EndpointSlice>>& slices) {
    std::vector<std::string> urls;
    for (const auto& slice : slices) {
        const auto port = std::ranges::find_if(slice->ports, [](const auto& one) { return one.name.value_or("") == "https"; });
        if (port == slice->ports.end() || !port->port) continue;
        for (const auto& endpoint : slice->endpoints) {
            if (!endpoint.conditions.ready.value_or(true)) continue;
            for (const std::string& address : endpoint.addresses) {
                std::string url = url_of(address, *port->port);
                if (!url.empty() && urls.size() < MostServers && std::ranges::find(urls, url) == urls.end()) urls.push_back(std::move(url));
            }
        }
    }
    return urls;
}

}  // namespace porthole::node_join
