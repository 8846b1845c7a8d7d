#include "api/core_v1.h"
#include "apiserver/kinds/kinds.h"
#include "schema/json/json.h"

namespace porthole::apiserver {
namespace {

using api::core::v1::Secret;
constexpr std::size_t SecretLimit = 1 << 20;
constexpr std::string_view SealedSecret = "field is immutable when `immutable` is set";
constexpr std::string_view Redacted = "<secret contents redacted>";

void set_defaults(Secret& object) {
    if (object.type.empty()) object.type = "Opaque";
    for (auto& [key, value] : object.string_data) object.data[key] = std::move(value);
    object.string_data.clear();
}

void require_key(const Secret& object, const char* key, FieldErrors& errors) {
    if (!object.data.contains(key)) errors.required(FieldPath("data").key(key));
}

void require_json(const Secret& object, const char* key, FieldErrors& errors) {
    const auto found = object.data.find(key);
    if (found == object.data.end()) return errors.required(FieldPath("data").key(key));
    const auto parsed = schema::parse_json(found->second);
    if (!parsed || !parsed->is_object())
        errors.invalid(FieldPath("data").key(key), Redacted, parsed ? "must be a JSON object" : parsed.error().message);
}

void validate_typed_keys(const Secret& object, FieldErrors& errors) {
    const std::string& type = object.type;
    if (type == "kubernetes.io/dockercfg") require_json(object, ".dockercfg", errors);
    if (type == "kubernetes.io/dockerconfigjson") require_json(object, ".dockerconfigjson", errors);
    if (type == "kubernetes.io/basic-auth" && !object.data.contains("username") && !object.data.contains("password")) {
        require_key(object, "username", errors);
        require_key(object, "password", errors);
    }
    if (type == "kubernetes.io/ssh-auth") {
        const auto key = object.data.find("ssh-privatekey");
        if (key == object.data.end() || key->second.empty()) errors.required(FieldPath("data").key("ssh-privatekey"));
    }
    if (type == "kubernetes.io/tls") {
        require_key(object, "tls.crt", errors);
        require_key(object, "tls.key", errors);
    }
    if (type == "kubernetes.io/service-account-token") {
        const auto name = object.metadata.annotations.find("kubernetes.io/service-account.name");
        if (name == object.metadata.annotations.end() || name->second.empty())
            errors.required(FieldPath("metadata.annotations").key("kubernetes.io/service-account.name"));
    }
}

void validate(const Secret& object, FieldErrors& errors) {
    std::size_t bytes = 0;
    for (const auto& [key, value] : object.data) {
        invalid_all(errors, FieldPath("data").key(key), key, names::check_config_key(key));
        bytes += value.size();
    }
    if (bytes > SecretLimit) errors.too_long("data", SecretLimit);
    validate_typed_keys(object, errors);
}

void validate_update(const Secret& object, const Secret& old, FieldErrors& errors) {
    if (object.type != old.type) errors.invalid("type", object.type, "field is immutable");
    if (old.immutable.value_or(false)) {
        if (!object.immutable.value_or(false)) errors.forbidden("immutable", SealedSecret);
        if (object.data != old.data) errors.forbidden("data", SealedSecret);
    }
    validate(object, errors);
}

}  // namespace

Strategy secret_strategy() {
    Strategy strategy = strategy_for<Secret>({.set_defaults = set_defaults, .validate = validate, .validate_update = validate_update});
    strategy.selectable_fields = {{"type"}};
    return strategy;
}

}  // namespace porthole::apiserver
