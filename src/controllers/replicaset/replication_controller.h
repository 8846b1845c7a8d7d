#pragma once
#include "controllers/replicaset/replica_controller.h"

namespace porthole::controllers {

/// Keeps the wanted number of pods of a ReplicationController's template.
class ReplicationControllerController final : public ReplicaController {
public:
    static constexpr const char* Account = "replication-controller";
    explicit ReplicationControllerController(Context& context);

private:
    using ReplicationController = api::core::v1::ReplicationController;

    std::shared_ptr<const ReplicaSet> find(const client::NamespacedName& key) const override;
    std::vector<std::shared_ptr<const ReplicaSet>> list(const std::string& namespace_) const override;
    Task<> write_status(ReplicaSet set) override;
    Task<ReplicaSet> read(client::NamespacedName key) override;

    client::Informer<ReplicationController>& controllers_;
};

}  // namespace porthole::controllers
