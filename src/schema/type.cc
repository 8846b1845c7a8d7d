#include "schema/type.h"

#include <algorithm>

namespace porthole::schema {

GroupVersion split_api_version(std::string_view api_version) {
    const std::size_t slash = api_version.find('/');
    if (slash == std::string_view::npos) return {"", api_version};
    return {api_version.substr(0, slash), api_version.substr(slash + 1)};
}

std::string join_api_version(std::string_view group, std::string_view version) {
    std::string result(group);
    if (!group.empty()) result += '/';
    return result.append(version);
}

const Field* Type::find_field(std::string_view wanted) const {
    if (by_name.size() < 8) {
        for (const Field& field : fields)
            if (field.name == wanted) return &field;
        return nullptr;
    }
    const auto found = std::lower_bound(by_name.begin(), by_name.end(), wanted,
                                        [this](std::uint16_t index, std::string_view name) { return fields[index].name < name; });
    return found != by_name.end() && fields[*found].name == wanted ? &fields[*found] : nullptr;
}

std::string Type::openapi_name() const {
    std::string result(package ? package->openapi : std::string_view());
    if (!result.empty()) result += '.';
    return result.append(name);
}

std::string Kind::api_version() const { return join_api_version(group, version); }

const Subresource* Kind::find_subresource(std::string_view wanted) const {
    const auto found = std::find_if(subresources.begin(), subresources.end(), [&](const Subresource& s) { return s.name == wanted; });
    return found == subresources.end() ? nullptr : &*found;
}

bool Kind::has_verb(std::string_view verb) const { return std::find(verbs.begin(), verbs.end(), verb) != verbs.end(); }

}  // namespace porthole::schema
