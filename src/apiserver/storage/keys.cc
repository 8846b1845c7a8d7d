#include "apiserver/storage/keys.h"

namespace porthole::apiserver {

std::string kind_prefix(const schema::Kind& kind) {
    return "/registry/" + std::string(kind.group.empty() ? "core" : kind.group) + "/" + std::string(kind.plural) + "/";
}

std::string namespace_prefix(const schema::Kind& kind, std::string_view namespace_) {
    return kind_prefix(kind) + std::string(namespace_) + "/";
}

std::string object_key(const schema::Kind& kind, std::string_view namespace_, std::string_view name) {
    return (namespace_.empty() ? kind_prefix(kind) : namespace_prefix(kind, namespace_)) + std::string(name);
}

}  // namespace porthole::apiserver
