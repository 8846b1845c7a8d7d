#pragma once
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/strategy/conversion.h"
#include "apiserver/strategy/strategy.h"
#include "schema/registry.h"

namespace porthole::apiserver {

/// The fields of a kind's objects that selectors may use, in addition to names. Records keep it, so it must not hold anything large.
struct SelectableFields {
    std::vector<SelectableField> fields;
    std::string_view topic_field;            ///< by which watchers are indexed; "" for none
    std::shared_ptr<const void> owner = {};  ///< of the texts
};

/// Where the subresource scale finds its numbers, as JSON paths of names.
struct ScalePaths {
    std::string replicas = ".spec.replicas", status_replicas = ".status.replicas";
    std::string selector;  ///< of a text; "": .spec.selector, which is a label selector or a map of labels
};

class VersionConverter;

/// One kind in one served version. Points into its registry and table; for a custom resource, into what the ResourcePtr owns.
///
/// A built-in kind is processed in its stored version, and converted when it is served. A custom resource is processed in the requested
/// version, with that version's schema, and converted between store and processing: `kind` and `stored` are then the same, and the stored
/// bytes may have been written in another version or with an earlier schema (see present_record() in object_codec.h). If a webhook converts
/// between versions, version_converter.h does that first; `conversion` is then what the schema does.
struct Resource {
    const schema::Kind* kind = nullptr;    ///< as served
    const schema::Kind* stored = nullptr;  ///< as worked on
    const Strategy* strategy = nullptr;
    Conversion conversion;
    std::string prefix;  ///< of the store's keys, "/registry/apps/deployments/"
    std::shared_ptr<const SelectableFields> selectable;

    // Of custom resources:
    std::uint64_t form = 0;           ///< which bytes need no conversion: a number for each schema there ever was; 0 for built-in kinds
    std::string storage_api_version;  ///< in which it is written
    VersionConverter* converter = nullptr;  ///< of versions that differ in more than apiVersion
    ScalePaths scale;                       ///< where a custom resource has the fields of scale
    mutable bool retired = false;           ///< no longer served, or served differently: watches end

    /// Whether stored bytes can be sent unchanged.
    bool sends_stored_bytes() const { return kind == stored; }
    std::string key(std::string_view namespace_, std::string_view name) const;
    /// The prefix of everything in a namespace; of all namespaces for "".
    std::string prefix_of(std::string_view namespace_) const;
};

using ResourcePtr = std::shared_ptr<const Resource>;

/// All served resources, by group, version and plural. Built-in resources do not move; a task that uses a custom one while it waits holds
/// its pointer.
class ResourceTable {
public:
    /// A kind without an entry in `strategies` gets the default one.
    ResourceTable(const schema::Registry& registry, std::vector<Strategy> strategies, Conversions conversions);

    /// nullptr if nothing is served there.
    ResourcePtr find(std::string_view group, std::string_view version, std::string_view plural) const;
    /// The resource of a kind in its stored version. Requires: there is one.
    const Resource& stored(std::string_view group, std::string_view plural) const;
    template <class T>
    const Resource& of() const {
        return stored(T::kind().group, T::kind().plural);
    }
    /// The stored resource whose prefix `key` has; nullptr for other keys.
    const Resource* find_by_key(std::string_view key) const;
    /// The served kinds whose objects are stored as `stored`, by group and version.
    std::vector<const schema::Kind*> served_as(const schema::Kind& stored) const;
    /// All resources in their stored version, in the order of the registry.
    const std::vector<const Resource*>& all_stored() const { return stored_; }

    /// The served versions of a custom resource and, first, the stored one, whether or not it is served. False, with nothing added, if
    /// something is already served at one of the paths.
    [[nodiscard]] bool add(const std::vector<ResourcePtr>& versions);
    void remove(const std::vector<ResourcePtr>& versions);

private:
    std::vector<std::unique_ptr<Strategy>> strategies_;
    std::map<std::string, ResourcePtr, std::less<>> by_path_;  // "group/version/plural"
    std::map<std::string, const Resource*, std::less<>> by_prefix_;
    std::vector<const Resource*> stored_;
};

}  // namespace porthole::apiserver
