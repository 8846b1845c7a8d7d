#include "apiserver/validation/field_errors.h"

namespace porthole::apiserver {

void invalid_all(FieldErrors& errors, const FieldPath& path, const schema::Value& value, const std::vector<std::string>& problems) {
    for (const std::string& problem : problems) errors.invalid(path, value, problem);
}

Error invalid(const schema::Kind& kind, std::string_view name, const FieldErrors& errors) {
    return errors.to_error(kind.group, kind.kind, name);
}

}  // namespace porthole::apiserver
