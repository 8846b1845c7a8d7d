#pragma once
#include <map>

#include "apiserver/admission/policy_parameters.h"
#include "apiserver/resources/resource.h"
#include "store/store.h"

namespace porthole::apiserver {

/// The current parameters of policies. All references outlive it.
class StoredParameters final : public PolicyParameters {
public:
    StoredParameters(const schema::Registry& registry, const ResourceTable& resources, const store::Store& store)
        : registry_(registry), resources_(resources), store_(store) {}

    const schema::Kind* find_kind(const std::string& api_version, const std::string& kind) const override;
    Result<PolicyParameterPtr> find(const schema::Kind& kind, const std::string& namespace_, const std::string& name) const override;
    Result<std::vector<PolicyParameterPtr>> list(const schema::Kind& kind, const std::string& namespace_, const LabelSelector& selector,
                                                 std::size_t most) const override;

private:
    Result<PolicyParameterPtr> decoded(const ResourcePtr& resource, const store::RecordPtr& record) const;

    const schema::Registry& registry_;
    const ResourceTable& resources_;
    const store::Store& store_;
    /// Requests use the same few objects again and again. By record, which is one version of one object, and the version in which it is
    /// seen; entries do not move while they are cached.
    static constexpr std::size_t MostDecoded = 256, MostDecodedBytes = 16 << 20;
    mutable std::map<std::pair<store::RecordPtr, ResourcePtr>, PolicyParameterPtr> decoded_;
    mutable std::size_t decoded_bytes_ = 0;  ///< of the records
};

}  // namespace porthole::apiserver
