#include "api/core_v1.h"
#include "apiserver/kinds/kinds.h"

namespace porthole::apiserver {
namespace {

using api::core::v1::ConfigMap;
constexpr std::size_t DataLimit = 1 << 20;
constexpr std::string_view SealedText = "field is immutable when `immutable` is set";

void validate(const ConfigMap& object, FieldErrors& errors) {
    std::size_t bytes = 0;
    for (const auto& [key, value] : object.data) {
        const FieldPath path = FieldPath("data").key(key);
        invalid_all(errors, path, key, names::check_config_key(key));
        if (object.binary_data.contains(key)) errors.invalid(path, key, "duplicate of key present in binaryData");
        bytes += value.size();
    }
    for (const auto& [key, value] : object.binary_data) {
        invalid_all(errors, FieldPath("binaryData").key(key), key, names::check_config_key(key));
        bytes += value.size();
    }
    if (bytes > DataLimit) errors.too_long("[]", DataLimit);
}

void validate_update(const ConfigMap& object, const ConfigMap& old, FieldErrors& errors) {
    if (old.immutable.value_or(false)) {
        if (!object.immutable.value_or(false)) errors.forbidden("immutable", SealedText);
        if (object.data != old.data) errors.forbidden("data", SealedText);
        if (object.binary_data != old.binary_data) errors.forbidden("binaryData", SealedText);
    }
    validate(object, errors);
}

}  // namespace

Strategy config_map_strategy() { return strategy_for<ConfigMap>({.validate = validate, .validate_update = validate_update}); }

}  // namespace porthole::apiserver
