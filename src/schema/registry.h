#pragma once
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schema/type.h"

namespace porthole::schema {

/// The kinds a server or client knows, by name and by resource. The built-in ones are `api::registry()` ("api/registry.h");
/// a server copies that and adds and removes custom resources. Kinds are borrowed and must outlive it. `const` functions may be called
/// from any thread while none changes it.
class Registry {
public:
    Registry() = default;
    /// `kinds` in the order of discovery.
    explicit Registry(std::span<const Kind* const> kinds);

    const Kind* find_kind(std::string_view group, std::string_view version, std::string_view kind) const;
    /// `api_version` as in an object: "v1", "apps/v1".
    const Kind* find_kind(std::string_view api_version, std::string_view kind) const;
    const Kind* find_resource(std::string_view group, std::string_view version, std::string_view plural) const;

    /// Group names in the order of discovery.
    const std::vector<std::string>& groups() const { return groups_; }
    /// Versions of a group, preferred first; empty for an unknown group.
    const std::vector<std::string>& versions(std::string_view group) const;
    /// Served resources of a group and version, in the order of discovery.
    std::vector<const Kind*> resources(std::string_view group, std::string_view version) const;
    std::span<const Kind* const> kinds() const { return kinds_; }

    /// Adds a kind, or replaces the one of the same name; a new group or version is added at the end.
    void add(const Kind& kind);
    void remove(const Kind& kind);

private:
    using Key = std::string;  // "group/version/name"
    static Key key(std::string_view group, std::string_view version, std::string_view name);

    std::vector<const Kind*> kinds_;
    std::map<Key, const Kind*, std::less<>> by_kind_, by_resource_;
    std::vector<std::string> groups_;
    std::map<std::string, std::vector<std::string>, std::less<>> versions_;
};

}  // namespace porthole::schema
