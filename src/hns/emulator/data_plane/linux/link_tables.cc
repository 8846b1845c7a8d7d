#include "hns/emulator/data_plane/linux/link_tables.h"

#include <fmt/core.h>

#include "schema/json/json.h"

namespace porthole::hns::emulator {

namespace {

std::string text(const schema::Value& item, std::string_view key) { return std::string(item.string_at({key})); }

std::uint64_t number(const schema::Value& item, std::initializer_list<std::string_view> path) {
    const schema::Value* value = item.at_path(path);
    return value ? static_cast<std::uint64_t>(value->int_or(0)) : 0;
}

/// The items of a list; `ip -json` prints nothing, or empty objects, for lists without any.
Result<std::vector<schema::Value>> items(std::string_view json) {
    if (json.find('[') == std::string_view::npos) return std::vector<schema::Value>();
    TRY(const schema::Value list, schema::parse_json(json));
    std::vector<schema::Value> kept;
    if (!list.is_array()) return Error(Reason::BadRequest, "ip: expected a list");
    for (const schema::Value& item : list.as_array()) {
        if (item.is_object() && !item.as_object().empty()) kept.push_back(item);
    }
    return kept;
}

LinkState read_link(const schema::Value& item) {
    LinkState link{.name = text(item, "ifname"),
                   .alias = text(item, "ifalias"),
                   .mac = text(item, "address"),
                   .master = text(item, "master"),
                   .mtu = static_cast<std::uint32_t>(number(item, {"mtu"}))};
    if (const schema::Value* addresses = item.find("addr_info"); addresses && addresses->is_array()) {
        for (const schema::Value& address : addresses->as_array()) {
            if (address.string_at({"scope"}) != "global") continue;
            link.addresses.push_back(
                {fmt::format("{}/{}", text(address, "local"), number(address, {"prefixlen"})), address.string_at({"family"}) == "inet"});
        }
    }
    link.counters = {.bytes_received = number(item, {"stats64", "tx", "bytes"}),
                     .bytes_sent = number(item, {"stats64", "rx", "bytes"}),
                     .packets_received = number(item, {"stats64", "tx", "packets"}),
                     .packets_sent = number(item, {"stats64", "rx", "packets"}),
                     .dropped_incoming = number(item, {"stats64", "tx", "dropped"}),
                     .dropped_outgoing = number(item, {"stats64", "rx", "dropped"})};
    return link;
}

}  // namespace

Result<std::vector<LinkState>> read_links(std::string_view json) {
    TRY(const auto list, items(json));
    std::vector<LinkState> links;
    for (const schema::Value& item : list) links.push_back(read_link(item));
    return links;
}

Result<std::vector<std::string>> read_made_routes(std::string_view json) {
    TRY(const auto list, items(json));
    std::vector<std::string> lines;
    for (const schema::Value& item : list) {
        if (item.string_at({"protocol"}) == "kernel") continue;
        std::string line = text(item, "dst");
        if (!text(item, "gateway").empty()) line += " via " + text(item, "gateway");
        if (!text(item, "prefsrc").empty()) line += " src " + text(item, "prefsrc");
        if (const auto metric = number(item, {"metric"})) line += fmt::format(" metric {}", metric);
        if (!text(item, "protocol").empty()) line += " proto " + text(item, "protocol");
        lines.push_back(std::move(line));
    }
    return lines;
}

Result<std::map<std::string, std::string>> read_own_routes(std::string_view json) {
    TRY(const auto list, items(json));
    std::map<std::string, std::string> routes;
    for (const schema::Value& item : list) {
        std::string destination = text(item, "dst"), table = text(item, "table"), type = text(item, "type");
        if (destination != "default" && destination.find('/') == std::string::npos) destination += "/32";
        std::string words = (type == "unreachable" ? "unreachable " : "") + destination, key = "route " + destination;
        if (!table.empty() && table != "main") {
            key += " table " + table;
            words += " table " + table;
        }
        routes[key] = words + " proto 81";
    }
    return routes;
}

Result<std::set<std::uint32_t>> read_own_rules(std::string_view json) {
    TRY(const auto list, items(json));
    std::set<std::uint32_t> priorities;
    for (const schema::Value& item : list) {
        const schema::Value* protocol = item.find("protocol");
        const bool own = protocol && (protocol->int_or(0) == 81 || protocol->string_or("") == "81");
        if (own) priorities.insert(static_cast<std::uint32_t>(number(item, {"priority"})));
    }
    return priorities;
}

}  // namespace porthole::hns::emulator
