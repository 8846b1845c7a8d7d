#pragma once
#include "apiserver/admission/kind_versions.h"
#include "apiserver/resources/resource.h"

namespace porthole::apiserver {

/// The versions of a ResourceTable, which outlives this.
class ServedVersions final : public KindVersions {
public:
    explicit ServedVersions(const ResourceTable& resources) : resources_(resources) {}
    std::vector<const schema::Kind*> served(const schema::Kind& stored) const override;
    Task<ApiObject> convert(ApiObject object, const schema::Kind& to) const override;
    void set_defaults(ApiObject& object) const override;

private:
    const ResourceTable& resources_;
};

}  // namespace porthole::apiserver
