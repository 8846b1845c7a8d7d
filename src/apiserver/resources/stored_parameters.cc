#include "apiserver/resources/stored_parameters.h"

#include "apiserver/resources/object_attributes.h"
#include "apiserver/resources/object_codec.h"
#include "schema/registry.h"

namespace porthole::apiserver {

const schema::Kind* StoredParameters::find_kind(const std::string& api_version, const std::string& kind) const {
    const schema::Kind* const found = registry_.find_kind(api_version, kind);
    return found && resources_.find(found->group, found->version, found->plural) ? found : nullptr;
}

Result<PolicyParameterPtr> StoredParameters::find(const schema::Kind& kind, const std::string& namespace_, const std::string& name) const {
    const ResourcePtr resource = resources_.find(kind.group, kind.version, kind.plural);
    const store::RecordPtr record = resource ? store_.get(resource->key(namespace_, name)) : nullptr;
    if (!record) return PolicyParameterPtr();
    return decoded(resource, record);
}

Result<std::vector<PolicyParameterPtr>> StoredParameters::list(const schema::Kind& kind, const std::string& namespace_,
                                                               const LabelSelector& selector, std::size_t most) const {
    std::vector<PolicyParameterPtr> found;
    const ResourcePtr resource = resources_.find(kind.group, kind.version, kind.plural);
    if (!resource) return found;
    TRY(const store::Range range, store_.range({.prefix = resource->prefix_of(namespace_)}));
    for (const store::RecordPtr& record : range.records) {
        if (found.size() == most) break;
        if (!attributes_of(*record).matches(selector)) continue;
        TRY(auto one, decoded(resource, record));
        found.push_back(std::move(one));
    }
    return found;
}

Result<PolicyParameterPtr> StoredParameters::decoded(const ResourcePtr& resource, const store::RecordPtr& record) const {
    const auto known = decoded_.find({record, resource});
    if (known != decoded_.end()) return known->second;
    TRY(ApiObject object, stored_object(*resource, *present_record(*resource, record)));
    object = to_served(*resource, std::move(object));
    auto made = std::make_shared<const PolicyParameter>(
        PolicyParameter{.namespace_ = object.namespace_(), .name = object.name(), .object = object.tree()});
    const std::size_t bytes = record->value.size();
    if (decoded_.size() == MostDecoded || decoded_bytes_ + bytes > MostDecodedBytes) {
        decoded_.clear();
        decoded_bytes_ = 0;
    }
    decoded_.emplace(std::pair(record, resource), made);
    decoded_bytes_ += bytes;
    return PolicyParameterPtr(std::move(made));
}

}  // namespace porthole::apiserver
