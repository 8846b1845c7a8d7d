#include "apiserver/migration/manifest.h"

#include "net/tls/crypto.h"

namespace porthole::apiserver {
namespace {

constexpr std::string_view RegistryRoot = "/registry/", CoreGroup = "core";

std::string_view part(std::string_view path) { return path.substr(0, path.find('/')); }

/// "deployments.apps" of "/registry/apps/deployments/ns/a"; "allocation" of "/allocation/…".
std::string resource_of(std::string_view key) {
    if (!key.starts_with(RegistryRoot)) return std::string(part(key.substr(key.starts_with('/') ? 1 : 0)));
    const std::string_view path = key.substr(RegistryRoot.size()), group = part(path);
    if (group.size() == path.size()) return std::string(path);
    const std::string_view resource = part(path.substr(group.size() + 1));
    return group == CoreGroup ? std::string(resource) : std::string(resource) + "." + std::string(group);
}

}  // namespace

void Manifest::add(const std::string& key, std::string_view plain_value, bool ends) {
    entries_[key] = {.hash = net::sha256_hex(plain_value), .ends = ends};
}

std::map<std::string, std::size_t> Manifest::counts() const {
    std::map<std::string, std::size_t> counts;
    for (const auto& [key, entry] : entries_) ++counts[resource_of(key)];
    return counts;
}

std::string Manifest::digest() const {
    std::string all;
    for (const auto& [key, entry] : entries_) all.append(entry.hash).append(" ").append(key).append("\n");
    return net::sha256_hex(all);
}

std::string Manifest::difference(const Manifest& copy) const {
    for (const auto& [key, entry] : entries_) {
        const auto found = copy.entries_.find(key);
        if (found == copy.entries_.end() && entry.ends) continue;
        if (found == copy.entries_.end()) return key + " is missing";
        if (found->second.hash != entry.hash) return key + " has another value";
        if (found->second.ends != entry.ends) return key + (entry.ends ? " has lost its lease" : " has got a lease");
    }
    for (const auto& [key, entry] : copy.entries_)
        if (!entries_.contains(key)) return key + " should not be there";
    return "";
}

}  // namespace porthole::apiserver
