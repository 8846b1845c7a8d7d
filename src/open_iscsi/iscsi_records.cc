#include "open_iscsi/iscsi_records.h"

#include <algorithm>

#include "base/strings.h"

namespace porthole::open_iscsi {
namespace {

/// Where distributions have open-iscsi keep its records.
constexpr const char* Folders[] = {"/etc/iscsi", "/var/lib/iscsi"};

/// "10.0.0.9,3260" and "fd00::9,3260", as names of files have them.
std::string place_of(const std::string& portal) {
    const std::size_t colon = portal.rfind(':');
    std::string address = portal.substr(0, colon);
    if (address.starts_with('[') && address.ends_with(']')) address = address.substr(1, address.size() - 2);
    return address + "," + (colon == portal.npos ? "3260" : portal.substr(colon + 1));
}

/// "10.0.0.9:3260,1" of "10.0.0.9,3260,1".
std::string portal_of(const std::string& place) {
    const std::size_t comma = place.find(',');
    const std::string address = place.substr(0, comma);
    const std::string rest = comma == place.npos ? "" : ":" + place.substr(comma + 1);
    return (address.contains(':') ? "[" + address + "]" : address) + rest;
}

/// The record with the values in place of those that it has of the same names.
std::string with_values(const std::string& record, const IscsiRecords::Values& values) {
    std::string text;
    for (const std::string& line : split(record, '\n')) {
        if (line.empty() || values.contains(line.substr(0, line.find(" = ")))) continue;
        if (line.starts_with("# END RECORD"))
            for (const auto& [key, value] : values)
                if (!value.empty()) text.append(key).append(" = ").append(value).append("\n");
        text.append(line).append("\n");
    }
    return text;
}

}  // namespace

std::vector<std::string> IscsiRecords::folders() const { return {root_ + Folders[0], root_ + Folders[1]}; }

bool IscsiRecords::has_interface(const std::string& interface) {
    return std::ranges::any_of(folders(), [&](const std::string& folder) { return files_.exists(folder + "/ifaces/" + interface); });
}

Result<void> IscsiRecords::set_discovery(const std::string& portal, const Values& values) {
    std::vector<std::string> records;
    for (const std::string& folder : folders()) records.push_back(folder + "/send_targets/" + place_of(portal) + "/st_config");
    return set(records, values);
}

Result<void> IscsiRecords::set_node(const std::string& portal, const std::string& iqn, const std::string& interface, const Values& values) {
    return set(node_records(place_of(portal), iqn, interface), values);
}

/// A record is "nodes/<iqn>/<address>,<port>,<portal group>/<interface>", or "nodes/<iqn>/<address>,<port>" without a known group.
std::vector<std::string> IscsiRecords::node_records(const std::string& place, const std::string& iqn, const std::string& interface) {
    std::vector<std::string> records;
    for (const std::string& folder : folders()) {
        const std::string target = folder + "/nodes/" + iqn;
        for (const std::string& name : files_.list(target).value_or(std::vector<std::string>())) {
            if (name != place && !name.starts_with(place + ",")) continue;
            const auto status = files_.link_status(target + "/" + name);
            records.push_back(target + "/" + name + (status && status->is_directory() ? "/" + interface : ""));
        }
    }
    return records;
}

std::vector<IscsiRecords::Node> IscsiRecords::nodes_of(const std::string& interface) {
    std::vector<Node> found;
    const auto names_in = [&](const std::string& folder) { return files_.list(folder).value_or(std::vector<std::string>()); };
    for (const std::string& folder : folders())
        for (const std::string& target : names_in(folder + "/nodes"))
            for (const std::string& place : names_in(folder + "/nodes/" + target))
                if (files_.exists(folder + "/nodes/" + target + "/" + place + "/" + interface)) found.push_back({target, portal_of(place)});
    return found;
}

Result<void> IscsiRecords::set(const std::vector<std::string>& records, const Values& values) {
    for (const auto& [key, value] : values)
        if (std::ranges::any_of(value, [](unsigned char c) { return c < ' '; }))
            return Error(Reason::BadRequest, "the secret's " + key + " has a control character");
    bool is_set = false;
    for (const std::string& path : records) {
        const auto record = files_.read(path);
        if (is_not_found(record)) continue;
        if (!record) return record.error();
        TRY_VOID(files_.replace(path, with_values(*record, values), 0600));
        is_set = true;
    }
    if (is_set) return {};
    return Error(Reason::NotFound, std::string("open-iscsi has no such record below ") + Folders[0] + " or " + Folders[1]);
}

}  // namespace porthole::open_iscsi
