#include "apiserver/storage/keys.h"

namespace porthole::apiserver {
namespace {

/// "/registry/GROUP/PLURAL/" with room for as many bytes more: every request makes several keys.
std::string prefix_with_room(const schema::Kind& kind, std::size_t more) {
    constexpr std::string_view Registry = "/registry/";
    const std::string_view group = kind.group.empty() ? "core" : kind.group;
    std::string prefix;
    prefix.reserve(Registry.size() + group.size() + kind.plural.size() + 2 + more);
    prefix.append(Registry).append(group) += '/';
    prefix.append(kind.plural) += '/';
    return prefix;
}

}  // namespace

std::string kind_prefix(const schema::Kind& kind) { return prefix_with_room(kind, 0); }

std::string namespace_prefix(const schema::Kind& kind, std::string_view namespace_) {
    std::string prefix = prefix_with_room(kind, namespace_.size() + 1);
    prefix.append(namespace_) += '/';
    return prefix;
}

std::string object_key(const schema::Kind& kind, std::string_view namespace_, std::string_view name) {
    std::string key = prefix_with_room(kind, namespace_.size() + 1 + name.size());
    if (!namespace_.empty()) key.append(namespace_) += '/';
    key.append(name);
    return key;
}

}  // namespace porthole::apiserver
