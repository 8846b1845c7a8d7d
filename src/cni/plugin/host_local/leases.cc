#include "cni/plugin/host_local/leases.h"

#include <algorithm>

#include "base/result.h"
#include "base/strings.h"

namespace porthole::cni {

namespace {

std::optional<IpAddress> address_of_name(std::string name) {
    std::ranges::replace(name, '_', ':');
    const auto address = IpAddress::parse(name);
    return address ? std::optional(*address) : std::nullopt;
}

/// Other programs have written "\n" or nothing between the two, and spaces around them.
Holder parse_holder(std::string text) {
    text = trim(text);
    const std::size_t newline = text.find('\n');
    if (newline == text.npos) return {text, ""};
    return {std::string(trim(text.substr(0, newline))), std::string(trim(text.substr(newline)))};
}

}  // namespace

Result<std::vector<Leases::Lease>> Leases::list() {
    TRY(const std::vector<std::string> names, files_.list(folder_));
    std::vector<Lease> leases;
    for (const std::string& name : names) {
        const auto address = address_of_name(name);
        if (!address) continue;
        auto text = files_.read(join_path(folder_, name));
        if (is_not_found(text)) continue;
        if (!text) return text.error();
        leases.push_back({*address, parse_holder(*std::move(text))});
    }
    return leases;
}

Result<void> Leases::put(const IpAddress& address, const Holder& holder) {
    return write(path_of(address), holder.container_id + "\r\n" + holder.interface);
}

Result<void> Leases::remove(const IpAddress& address) {
    const auto removed = files_.remove(path_of(address));
    if (!removed && !is_not_found(removed)) return removed.error();
    return {};
}

std::optional<IpAddress> Leases::last_reserved(std::size_t set) {
    const auto text = files_.read(join_path(folder_, "last_reserved_ip." + std::to_string(set)));
    if (!text) return std::nullopt;
    const auto address = IpAddress::parse(parse_holder(*text).container_id);
    return address ? std::optional(*address) : std::nullopt;
}

Result<void> Leases::set_last_reserved(std::size_t set, const IpAddress& address) {
    return write(join_path(folder_, "last_reserved_ip." + std::to_string(set)), address.to_string());
}

std::string Leases::path_of(const IpAddress& address) const {
    std::string name = address.to_string();
    if (!colons_) std::ranges::replace(name, ':', '_');
    return join_path(folder_, name);
}

Result<void> Leases::write(const std::string& path, const std::string& text) { return files_.replace(path, text, 0600); }

}  // namespace porthole::cni
