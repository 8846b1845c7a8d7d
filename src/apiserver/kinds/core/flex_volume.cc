#include "apiserver/kinds/core/flex_volume.h"

#include "base/strings.h"

namespace porthole::apiserver {

void validate_flex_volume(const std::string& driver, const std::map<std::string, std::string>& options, const FieldPath& path,
                          FieldErrors& errors) {
    if (driver.empty()) errors.required(path / "driver");
    for (const auto& [name, value] : options) {
        const std::string owner = "." + to_lower(name.substr(0, name.find('/')));
        if (owner.ends_with(".kubernetes.io") || owner.ends_with(".k8s.io"))
            errors.invalid((path / "options").key(name), name, "kubernetes.io and k8s.io namespaces are reserved");
    }
}

}  // namespace porthole::apiserver
