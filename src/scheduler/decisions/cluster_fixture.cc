#include "scheduler/decisions/cluster_fixture.h"

#include "api/apps_v1.h"
#include "api/policy_v1.h"
#include "api/resource_v1.h"
#include "api/storage_v1.h"
#include "base/result.h"

namespace porthole::scheduler::testing {

namespace {

template <class... Kinds>
void put_one_of(client::FakeApi& api, const schema::Value& object) {
    const std::string_view kind = object.string_at({"kind"});
    const auto put_as = [&]<class Kind>() {
        if (Kind::kind().kind != kind) return false;
        api.put(schema::from_value<Kind>(object).value());
        return true;
    };
    CHECK((put_as.template operator()<Kinds>() || ...));
}

}  // namespace

void put_object(client::FakeApi& api, schema::Value object) {
    namespace core = api::core::v1;
    namespace resource = api::resource::v1;
    namespace storage = api::storage::v1;
    schema::Value& metadata = object.ensure_path({"metadata"});
    if (metadata.string_at({"uid"}).empty()) metadata["uid"] = std::string(metadata.string_at({"name"}));
    put_one_of<core::Node, core::Pod, core::Namespace, core::PersistentVolume, core::PersistentVolumeClaim, core::Service,
               api::apps::v1::ReplicaSet, api::apps::v1::StatefulSet, api::policy::v1::PodDisruptionBudget, storage::StorageClass,
               storage::CSINode, storage::CSIDriver, storage::CSIStorageCapacity, storage::VolumeAttachment, resource::DeviceClass,
               resource::ResourceClaim, resource::ResourceSlice>(api, object);
}

}  // namespace porthole::scheduler::testing
