#include "apiserver/etcd_form/etcd_keys.h"

#include <algorithm>
#include <array>
#include <map>

#include "api/registry.h"

namespace porthole::apiserver {
namespace {

constexpr std::string_view EtcdRoot = "/registry/", Own = "/_porthole";

struct Special {
    std::string_view resource, path;
};
// See kubernetes: pkg/kubeapiserver/default_storage_factory_builder.go.
constexpr std::array Specials{
    Special{"replicationcontrollers", "controllers"},
    Special{"endpoints", "services/endpoints"},
    Special{"services", "services/specs"},
    Special{"nodes", "minions"},
    Special{"ingresses", "ingress"},
};

/// Of built-in kinds; these are served by servers of their own upstream, whose keys have the group.
bool has_group_in_key(std::string_view group) { return group == "apiextensions.k8s.io" || group == "apiregistration.k8s.io"; }

struct Tables {
    std::map<std::string_view, std::string> group_of;         ///< by resource, as in the store's keys
    std::map<std::string_view, std::string_view> path_of;     ///< of a special resource
    std::map<std::string_view, std::string_view> special_of;  ///< by path

    Tables() {
        for (const schema::Kind* kind : api::kinds()) {
            const bool stored = kind->is(schema::Kind::Resource) && !kind->storage_version.empty() && kind->group == kind->storage_group;
            if (!stored || has_group_in_key(kind->group)) continue;
            group_of.emplace(kind->plural, kind->group.empty() ? "core" : kind->group);
        }
        for (const Special& special : Specials) {
            path_of.emplace(special.resource, special.path);
            special_of.emplace(special.path, special.resource);
        }
    }
};

const Tables& tables() {
    static const Tables tables;
    return tables;
}

/// Up to the next slash, and behind it; "" where there is none.
std::string_view first_part(std::string_view path) { return path.substr(0, path.find('/')); }

/// "services/specs" of "services/specs/ns/a".
std::string_view first_two_parts(std::string_view path) {
    const std::size_t slash = path.find('/');
    return slash == path.npos ? path : path.substr(0, path.find('/', slash + 1));
}

}  // namespace

std::string etcd_key_of(std::string_view key) {
    if (!key.starts_with(EtcdRoot)) return std::string(Own).append(key);
    const std::string_view path = key.substr(EtcdRoot.size()), group = first_part(path);
    const std::string_view rest = path.substr(std::min(group.size() + 1, path.size())), resource = first_part(rest);
    const auto found = tables().group_of.find(resource);
    if (found == tables().group_of.end() || found->second != group) return "/" + std::string(path);
    const auto special = tables().path_of.find(resource);
    const std::string_view named = special == tables().path_of.end() ? resource : special->second;
    return "/" + std::string(named).append(rest.substr(resource.size()));
}

std::optional<std::string> key_of_etcd(std::string_view etcd_key) {
    if (!etcd_key.starts_with('/')) return std::nullopt;
    if (etcd_key.starts_with(Own)) {
        etcd_key.remove_prefix(Own.size());
        if (!etcd_key.starts_with('/') || etcd_key.starts_with(EtcdRoot)) return std::nullopt;
        return std::string(etcd_key);
    }
    const std::string_view path = etcd_key.substr(1);
    std::string_view resource = first_part(path), named = resource;
    for (const std::string_view candidate : {first_two_parts(path), first_part(path)}) {
        const auto special = tables().special_of.find(candidate);
        if (special == tables().special_of.end()) continue;
        named = candidate;
        resource = special->second;
        break;
    }
    const auto found = tables().group_of.find(resource);
    // A resource that has another name in keys is not there under its own.
    const bool misnamed = named == resource && tables().path_of.contains(resource);
    if (found == tables().group_of.end() || misnamed) {
        std::string key = std::string(EtcdRoot).append(path);
        if (etcd_key_of(key) != etcd_key) return std::nullopt;  // "/core/pods/ns/a": what has that key in the store lies elsewhere
        return key;
    }
    return std::string(EtcdRoot).append(found->second).append("/").append(resource).append(path.substr(named.size()));
}

}  // namespace porthole::apiserver
